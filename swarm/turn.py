"""Asking for one reply until it can be read.

Rooms and replays ask in the same way: recorded replies first, then the model; a reply that is no
JSON object is asked for again with another seed, `retries` times at most. After that the turn is a
pass. Every reply that was not used is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from swarm.models.base import Draw, Model, Reply, drawing
from swarm.prompt import Prompt
from swarm.repair import MAX_REPLY, Reading, read_object
from swarm.text import storable


@dataclass(frozen=True, slots=True)
class Heard:
    """A seat's reply as the rules get it.

    Attributes
    ----------
    reply : Reply
        The last reply.
    reading : Reading
        How it was read; an invalid one is a pass.
    discarded : tuple of Reply
        Earlier replies of the same turn that could not be read, oldest first.
    live : bool
        False when every reply came from the record.
    """

    reply: Reply
    reading: Reading
    discarded: tuple[Reply, ...] = ()
    live: bool = True

    @property
    def seconds(self) -> float:
        """Latency of all attempts together."""
        return self.reply.latency + sum(r.latency for r in self.discarded)


async def hear(
    model: Model,
    prompt: Prompt,
    *,
    seed: Callable[[int], int],
    draw: Draw,
    retries: int,
    recorded: tuple[Reply, ...] = (),
) -> Heard:
    """Ask `model` for a reply to `prompt`.

    Parameters
    ----------
    seed : callable
        Attempt number (from 0) to seed.
    draw : Draw
        What the calls are booked as; its attempt is filled in here.
    retries : int
        How often an unreadable reply is asked for again.
    recorded : tuple of Reply
        What the log holds of this turn, in order of attempts; it is used before the model is.
    """
    discarded: list[Reply] = []
    live = False
    for attempt in range(retries + 1):
        if attempt < len(recorded):
            reply = recorded[attempt]
            if attempt + 1 < len(recorded):  # that it was asked again says how it was read
                discarded.append(reply)
                continue
        else:
            with drawing(replace(draw, attempt=attempt)):
                reply = await model.reply(prompt, seed(attempt))
            reply = _kept(reply)
            live = True
        reading = _read(reply)
        if reading.status != "invalid" or attempt == retries or reply.final:
            return Heard(reply, reading, tuple(discarded), live)
        discarded.append(reply)
    raise AssertionError("unreachable: retries is never negative")


def _kept(reply: Reply) -> Reply:
    """The reply as the log can hold it: not too long, every text storable."""
    return replace(
        reply,
        text=storable(reply.text[:MAX_REPLY]),
        reasoning=reply.reasoning and storable(reply.reasoning[:MAX_REPLY]),
        served_by=reply.served_by and storable(reply.served_by),
        fingerprint=reply.fingerprint and storable(reply.fingerprint),
    )


def _read(reply: Reply) -> Reading:
    if reply.failed:
        return Reading("invalid", reply.failed, {})
    return read_object(reply.text)
