"""A token as one integer, and what a spelling is in any room.

A token has a kind (word, teammate, author, service, listed change, other id), what it refers to,
a word of the vocabulary and some marks (form, ending, capitals, a space before it). Teammates,
services and changes share one word per kind, so nothing learned depends on who or what is named.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple


class Kind(IntEnum):
    """What a token is."""

    WORD = 0
    TEAMMATE = 1
    AUTHOR = 2
    SERVICE = 3
    CHANGE = 4
    OTHER_ID = 5


class Form(IntEnum):
    """How a spelling came to stand for what it stands for."""

    EXACT = 0
    TYPO = 1
    START = 2  # "inv", "ship"; of a change, its digits alone
    SHORT = 3  # "pmts", "chkout", a part, an inflection


PARTS = {
    "kind": (0, 3),
    "ref": (3, 8),
    "form": (11, 2),
    "ending": (13, 2),  # 1 possessive, 2 "'ll", 3 "'d"
    "capital": (15, 1),
    "capitals": (16, 1),
    "space": (17, 1),  # before it
    "at": (18, 1),
    "word": (19, 20),
}
"""Lowest bit and number of bits of every part of a packed token."""
MOST_REFS = 256
KIND_BITS = 7
NO_REF = ~((1 << PARTS["ref"][1]) - 1 << PARTS["ref"][0])
"""Mask of all but what a token refers to."""
WORD_BITS = -1 << PARTS["word"][0]

SPECIAL = (
    "<pad>", "<unknown>", "<teammate>", "<author>", "<service>", "<change>", "<id>", "<time>",
    "<number>", "<line>", "<arrow>", "<back>", "<dash>", "<strike>", "<sign>",
)  # fmt: skip
"""Words of the vocabulary that stand for many spellings; they come first in it."""
WORD_OF = dict(zip(list(Kind)[1:], range(2, 7), strict=True))
"""Number of the word that all tokens of a kind share."""

LETTER = "[A-Za-zÀ-ÖØ-öø-\u1fff]"
TOKEN = (
    rf"\d+[:.]\d+|@?{LETTER}{{1,8}}-?\d+(?!{LETTER})|@?{LETTER}+(?:['’]{LETTER}+)*|\d+"
    r"|\n\s*|<?[-=]+>|<[-=]+|~~|[-–—~]+|[.!?]+|\S"
)
"""Pattern of one token, the space before it aside."""
USUAL_ID = re.compile(r"[a-z]{1,8}-?\d+")
_ENDINGS = {"'s": 1, "'ll": 2, "'d": 3, "'": 1}
_ENDED = re.compile(r"'(?:s|ll|d)?$")
_SHAPES = (
    (re.compile(r"\d+[:.]\d+"), "<time>"),
    (re.compile(r"\n\s*"), "<line>"),
    (re.compile(r"<?[-=]+>|[→➜➔➡⇒👉：⟶▶»]"), "<arrow>"),
    (re.compile(r"<[-=]+|[←⬅«]"), "<back>"),
    (re.compile(r"~~"), "<strike>"),
    (re.compile(r"[-–—~]+"), "<dash>"),
)
_MOST_KEPT = 50_000


def packed(**parts: int) -> int:
    """A token of these parts as one integer; a part not named is 0."""
    return sum(int(value) << PARTS[part][0] for part, value in parts.items())


def hold_a_pair(tokens: Sequence[int]) -> bool:
    """Whether a teammate and a target are among them; else there is nothing to tag."""
    kinds = {token & KIND_BITS for token in tokens}
    return Kind.TEAMMATE in kinds and (Kind.SERVICE in kinds or Kind.CHANGE in kinds)


def part_of(token: int, part: str) -> int:
    """One part of a packed token."""
    low, bits = PARTS[part]
    return token >> low & (1 << bits) - 1


class Spelling(NamedTuple):
    """What a spelling is in any room.

    Attributes
    ----------
    low, core : str
        In lower case without the space and the @ before it; and without an ending.
    ending : int
        Its ending.
    marks : int
        Its marks, packed.
    token : int
        Packed, when it is nobody's name and no service.
    """

    low: str
    core: str
    ending: int
    marks: int
    token: int


class Vocabulary:
    """The words that the network knows.

    Parameters
    ----------
    words : sequence of str
        `SPECIAL` first, then lower-case words.
    common : int
        So many words behind the special ones are ordinary English, most frequent first.

    Attributes
    ----------
    common : frozenset of str
    joints : frozenset of int
        Words that may stand within a range of names.
    """

    def __init__(self, words: Sequence[str], *, common: int) -> None:
        self.words = tuple(words)
        self._number = {word: k for k, word in enumerate(self.words)}
        self._spellings: dict[str, Spelling] = {}
        self.common = frozenset(self.words[len(SPECIAL) : len(SPECIAL) + common])
        ranges = ("<dash>", "to", "through", "..")
        self.joints = frozenset(self._number[word] for word in ranges if word in self._number)

    def __len__(self) -> int:
        return len(self.words)

    def __getitem__(self, word: str) -> int:
        """Number of `word`, or of the nearest spelling that is known."""
        number = self._number.get(word)
        return self._near(word) if number is None else number

    def _near(self, word: str) -> int:
        spellings = [word.replace("'", ""), re.sub(r"(.)\1{2,}", r"\1", word)]
        spellings += [word.removesuffix(end) for end in ("'s", "'ll", "'d", "'re", "'ve", "n't")]
        for spelling in spellings:
            if spelling in self._number:
                return self._number[spelling]
        return self._number["<unknown>" if word[:1].isalnum() else "<sign>"]

    def spelling(self, text: str) -> Spelling:
        """What `text`, a token with the space before it, is in any room."""
        known = self._spellings.get(text)
        if known is None:
            known = self._analysed(text)
            if len(self._spellings) < _MOST_KEPT:  # a long run meets ever new ones
                self._spellings[text] = known
        return known

    def _analysed(self, text: str) -> Spelling:
        bare = text.lstrip(" \t")
        low = bare.lower().replace("\u2019", "'")
        at = len(low) > 1 and low[0] == "@"
        low = low[1:] if at else low
        marks = packed(
            capital=bare[at : at + 1].isupper(),
            capitals=len(bare) > 2 and bare.isupper(),
            space=text[0] in " \t",
            at=at,
        )
        core = _ENDED.sub("", low) if "'" in low else low
        kind, word = self._alone(low)
        token = marks | kind | word << PARTS["word"][0]
        return Spelling(low, core, _ENDINGS.get(low[len(core) :], 0), marks, token)

    def _alone(self, low: str) -> tuple[Kind, int]:
        """Kind and word of what is nobody's name and no service."""
        if low[0].isalpha():
            if low[-1].isdecimal() and USUAL_ID.fullmatch(low):
                return Kind.OTHER_ID, self["<id>"]
            return Kind.WORD, self[low]
        if low.isdecimal():
            if len(low) > 2:  # perhaps an id without its letters
                return Kind.OTHER_ID, self["<number>"]
            return Kind.WORD, self[low if len(low) == 1 else "<number>"]
        for shape, word in _SHAPES:
            if shape.fullmatch(low):
                return Kind.WORD, self[word]
        return Kind.WORD, self["?" if "?" in low else "!" if "!" in low else low]
