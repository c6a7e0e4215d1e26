"""A prompt is a list of blocks.

A rule text, the list of alerts, one post, one card, one note: each is a block, stored once in the
log under the hash of its content. A prompt is the ordered list of its blocks. A counterfactual
prompt is the logged list minus a post's block; nothing is rendered again. This works because no
block depends on the presence of another: there are no counters and no numbering over them.

Blocks that never change come first, then what happened in the order it happened, then the state of
the turn; so a provider's prefix cache holds everything but the end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from swarm.text import storable


@dataclass(frozen=True, slots=True)
class Block:
    """One indivisible piece of a prompt.

    Attributes
    ----------
    kind : str
        What it is: ``rules``, ``alerts``, ``changes``, ``note``, ``card``, ``post``, ...
    text : str
        As the model reads it; one or more lines, without the line break at its end.
    id : int
        64-bit content address: the same kind and text have the same id in every log.
    """

    kind: str
    text: str
    id: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        content = f"{self.kind}\0{self.text}".encode()
        digest = hashlib.blake2b(content, digest_size=8).digest()
        object.__setattr__(self, "id", int.from_bytes(digest, "big"))


def block(kind: str, text: str) -> Block:
    """A block whose text can be stored (see `swarm.text.storable`)."""
    return Block(kind, storable(text))


@dataclass(frozen=True)
class Prompt:
    """The two texts of a turn, as blocks.

    Attributes
    ----------
    system, turn : tuple of Block
        The system prompt and the turn prompt, in reading order.
    """

    system: tuple[Block, ...]
    turn: tuple[Block, ...]

    @cached_property
    def texts(self) -> tuple[str, str]:
        """System text and turn text: what a model gets, and all it gets."""
        return _joined(self.system), _joined(self.turn)

    def without(self, removed: Collection[int]) -> Prompt:
        """This prompt minus the blocks whose ids are in `removed`.

        Examples
        --------
        >>> a, b = block("post", "Bo: hi"), block("post", "Cy: hello")
        >>> Prompt((), (a, b)).without({a.id}) == Prompt((), (b,))
        True
        """
        return Prompt(
            tuple(b for b in self.system if b.id not in removed),
            tuple(b for b in self.turn if b.id not in removed),
        )

    def __contains__(self, block_id: int) -> bool:
        return any(b.id == block_id for b in (*self.system, *self.turn))


def _joined(blocks: Iterable[Block]) -> str:
    return "\n".join(b.text for b in blocks)
