"""One room, played on a SimPy environment.

A scenario's program asks a seat for a reply and waits; the `Desk` is where it asks. The driver
drains the environment, awaits whichever replies are outstanding, and lets them take effect after
their latency, so the environment's clock tells how long the room took. Given the same spec and the
same replies a room always runs the same way: resuming is feeding the recorded replies first, and
checking a log is playing it with a record alone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import simpy

from swarm.design import RoomSpec
from swarm.models.base import Draw, Model, Reply
from swarm.prompt import Block, Prompt
from swarm.scenario import Rows, Scenario
from swarm.streams import seed_of, stream
from swarm.tasks import all_of
from swarm.turn import Heard, hear

Record = Mapping[tuple[int, int], tuple[Reply, ...]]
"""Replies by (round, seat), in order of attempts."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something in a reply that the rules did not take: which field, its text, and why."""

    field: str
    value: str
    reason: str


@dataclass(slots=True)
class Turn:
    """What a reply came to under the rules; the scenario fills it, the desk logs it.

    `query` and `file` hold what took effect, None where nothing did.
    """

    round: int
    position: int
    seat: int
    heard: Heard
    note: str = ""
    post: str = ""
    post_block: int | None = None
    query: str | None = None
    file: str | None = None
    refusals: list[Refusal] = field(default_factory=list)


@dataclass(slots=True)
class _Ask:
    round: int
    seat: int
    prompt: Prompt
    asked_at: float
    answered: simpy.Event


class Desk:
    """Where a scenario's program asks for replies and leaves what the log must keep.

    Attributes
    ----------
    env : simpy.Environment
        Time is in seconds.
    """

    def __init__(self, spec: RoomSpec) -> None:
        self.env = simpy.Environment()
        self._spec = spec
        self._outstanding: list[_Ask] = []
        self._prompts: dict[tuple[int, int], Prompt] = {}
        self._rows: Rows = {}
        self._known_blocks: set[int] = set()

    def ask(self, seat: int, prompt: Prompt, *, round: int) -> simpy.Event:
        """An event that fires with the seat's `Heard` once it has replied."""
        answered = self.env.event()
        self._outstanding.append(_Ask(round, seat, prompt, self.env.now, answered))
        self._prompts[round, seat] = prompt
        return answered

    def ask_all(self, prompts: Sequence[tuple[int, Prompt]], *, round: int) -> simpy.Event:
        """An event that fires with a list of `Heard`, in the order of `prompts`, when all replied.

        The order in which replies arrive has no effect.
        """
        events = [self.ask(seat, prompt, round=round) for seat, prompt in prompts]
        done = self.env.event()

        def collect() -> Generator[simpy.Event, Any, None]:
            yield self.env.all_of(events)
            done.succeed([event.value for event in events])

        self.env.process(collect())
        return done

    def order(self, round: int) -> list[int]:
        """The seats in this round's turn order, a random permutation."""
        seats = list(range(len(self._spec.names)))
        stream(self._spec.seed, "order", round).shuffle(seats)
        return seats

    def log(self, table: str, *row: Any) -> None:
        """Keep a row, given after its room id, for `table`."""
        self._rows.setdefault(table, []).append((self._spec.room, *row))

    def took_effect(self, turn: Turn) -> None:
        """Keep a turn with its prompt, refusals, unused replies and intents."""
        reply, reading = turn.heard.reply, turn.heard.reading
        key = (turn.round, turn.seat)
        self.log(
            "turns",
            turn.round,
            turn.position,
            turn.seat,
            1 + len(turn.heard.discarded),
            reading.status,
            reading.rule,
            reply.failed,
            reply.text,
            turn.note,
            turn.post,
            turn.post_block,
            turn.query,
            turn.file,
            reply.reasoning,
            self._spec.models[turn.seat],
            reply.served_by,
            reply.fingerprint,
            reply.tokens_in,
            reply.tokens_cached,
            reply.tokens_out,
            reply.tokens_reasoning,
            reply.cost,
            reply.latency,
            float(self.env.now),
        )
        prompt = self._prompts.pop(key)
        self.log("prompts", *key, self._ids(prompt.system), self._ids(prompt.turn))
        for attempt, unused in enumerate(turn.heard.discarded):
            self.log("discarded", *key, attempt, unused.text, unused.tokens_in, unused.tokens_out,
                     unused.cost, unused.latency)  # fmt: skip
        for refusal in turn.refusals:
            self.log("refusals", *key, refusal.field, refusal.value[:200], refusal.reason)
        for intent in reply.intents:
            self.log("intents", *key, intent.teammate, intent.kind, intent.target)

    def keep(self, block: Block) -> int:
        """See that the log holds `block`, even if no prompt ever shows it; returns its id."""
        if block.id not in self._known_blocks:
            self._known_blocks.add(block.id)
            self._rows.setdefault("blocks", []).append((block.id, block.kind, block.text))
        return block.id

    def _ids(self, blocks: tuple[Block, ...]) -> list[int]:
        return [self.keep(block) for block in blocks]

    def take_rows(self) -> Rows:
        """The rows kept since the last call."""
        rows, self._rows = self._rows, {}
        return rows

    def take_outstanding(self) -> list[_Ask]:
        """The asks that wait for a reply; they become the caller's to answer."""
        asks, self._outstanding = self._outstanding, []
        return asks


async def play_room(
    scenario: Scenario,
    spec: RoomSpec,
    models: Mapping[str, Model],
    *,
    record: Record | None = None,
    sink: Callable[[Rows], None],
) -> None:
    """Play one room to its end.

    Parameters
    ----------
    models : mapping
        Model by name, for every model in `spec.models`.
    record : Record, optional
        Replies that are already known; they are used before any model is asked.
    sink : callable
        Gets the log's rows, each time the room has moved on. A turn's rows come together. Rows of
        turns that were fed from the record are in it too.
    """
    desk = Desk(spec)
    process = desk.env.process(scenario.program(spec, desk))
    while True:
        desk.env.run()
        rows = desk.take_rows()
        if rows:
            sink(rows)
        asks = desk.take_outstanding()
        if not asks:
            break
        if len(asks) == 1:
            answers = [await _answer(asks[0], spec, models, record)]
        else:
            answers = await all_of(_answer(a, spec, models, record) for a in asks)
        for asked, heard in zip(asks, answers, strict=True):
            _deliver(desk.env, asked, heard)
    if process.is_alive:
        raise AssertionError(f"room {spec.room} waits for something that is not a reply")


async def _answer(
    asked: _Ask, spec: RoomSpec, models: Mapping[str, Model], record: Record | None
) -> Heard:
    return await hear(
        models[spec.models[asked.seat]],
        asked.prompt,
        seed=lambda attempt: seed_of(spec.seed, "seat", asked.seat, asked.round, attempt),
        draw=Draw("play", spec.room, asked.round, asked.seat),
        retries=spec.retries,
        recorded=(record or {}).get((asked.round, asked.seat), ()),
    )


def _deliver(env: simpy.Environment, asked: _Ask, heard: Heard) -> None:
    """Let the reply take effect when it would have arrived on the room's clock."""
    wait = max(0.0, asked.asked_at + heard.seconds - env.now)

    def arrive(_: simpy.Event) -> None:
        asked.answered.succeed(heard)

    env.timeout(wait).callbacks.append(arrive)
