"""Replies that are already in a log: what resuming, forking and checking feed to a room."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from swarm.log.store import Log
from swarm.models.base import Reply
from swarm.prompt import Prompt
from swarm.room import Record


class Missing:
    """The model of a seat that may only repeat its record; asking it anything is a bug."""

    surrogate = True

    def __init__(self, name: str) -> None:
        self.name = name

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """Raises LookupError: the record ends before the room does."""
        raise LookupError(f"the log holds no reply of {self.name} for this turn")


def records_of(log: Log, rooms: Iterable[str]) -> dict[str, Record]:
    """Recorded replies by room, for those of `rooms` that have any."""
    wanted = list(rooms)
    found: dict[str, dict[tuple[int, int], tuple[Reply, ...]]] = {}
    discarded = log.rows(
        "SELECT room, round, seat, reply, tokens_in, tokens_out, cost, latency FROM discarded "
        "WHERE room IN (SELECT unnest(?)) ORDER BY room, round, seat, attempt",
        [wanted],
    )
    for room, round, seat, text, tokens_in, tokens_out, cost, latency in discarded:
        reply = Reply(text, tokens_in=tokens_in, tokens_out=tokens_out, cost=cost, latency=latency)
        turns = found.setdefault(room, {})
        turns[round, seat] = (*turns.get((round, seat), ()), reply)
    used = log.rows(
        "SELECT room, round, seat, failed, reply, reasoning, tokens_in, tokens_cached, tokens_out, "
        "tokens_reasoning, cost, latency, served_by, fingerprint FROM turns "
        "WHERE room IN (SELECT unnest(?))",
        [wanted],
    )
    for room, round, seat, failed, *reply_fields in used:
        turns = found.setdefault(room, {})
        reply = replace(Reply(*reply_fields), failed=failed, final=True)  # it took effect
        turns[round, seat] = (*turns.get((round, seat), ()), reply)
    return dict(found)
