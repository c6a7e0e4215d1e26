"""The rules of the outage room, as a SimPy process.

Round 1 is a barrier: all seats are asked into an empty channel, and their replies take effect in
the round's declared turn order. From round 2 the seats are asked one after the other. Whatever a
reply holds, the rules take what is legal, refuse the rest with a reason, and the room goes on.
"""

from __future__ import annotations

import reprlib  # bounded: repr breaks off with an error on deep nesting
from collections.abc import Generator
from functools import lru_cache
from typing import Any

from scenarios.outage import prompts
from scenarios.outage.settings import OutageSettings
from scenarios.outage.world import Outage, make_world
from swarm.design import RoomSpec
from swarm.prompt import Block, Prompt
from swarm.room import Desk, Refusal, Turn
from swarm.text import storable
from swarm.turn import Heard

FIELDS = ("note", "post", "query", "file")


def play(spec: RoomSpec, desk: Desk) -> Generator[Any, Any, None]:
    """Play the room `spec` at `desk` to its end."""
    table = Table(spec, desk)
    for round in range(1, table.settings.rounds + 1):
        order = desk.order(round)
        if round == 1:
            asked = [(seat, table.prompt(seat, round)) for seat in order]
            replies = yield desk.ask_all(asked, round=round)
            for position, seat in enumerate(order):
                table.act(round, position, seat, replies[position])
        else:
            for position, seat in enumerate(order):
                reply = yield desk.ask(seat, table.prompt(seat, round), round=round)
                table.act(round, position, seat, reply)
                if table.over:
                    break
        if table.over:
            break
    table.close(round)


def decided(settings: OutageSettings, fields: dict[str, Any]) -> tuple[str | None, str | None]:
    """The service that a reply's fields query and the change id that they file.

    None where there is none. Services are spelled as in the settings, ids in capitals; whether the
    rules would take them in some state is not looked at.
    """
    query, file = _word(fields.get("query")), _word(fields.get("file"))
    if query is not None:
        query = _spelling(settings).get(query.casefold(), query)
    return query, file.upper() if file else None


@lru_cache(maxsize=16)
def _spelling(settings: OutageSettings) -> dict[str, str]:
    return {service.casefold(): service for service in settings.services}


def _word(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    value = value.strip()
    return None if value.casefold() in ("", "none", "null") else storable(value)


class Table:
    """The state of one game."""

    def __init__(self, spec: RoomSpec, desk: Desk) -> None:
        assert isinstance(spec.settings, OutageSettings)
        self.settings = spec.settings
        self._spec = spec
        self._desk = desk
        self._world = make_world(self.settings, spec.world_seed)
        self._changes = {c.id: c for c in self._world.changes}
        self._history: list[tuple[int | None, Block]] = []  # (only reader or None for all, block)
        self._cards: dict[int, list[Block]] = {}  # results that wait for the seat's next turn
        self._queried: list[str] = []
        self._queries = [self.settings.queries] * len(spec.names)
        self._filed: dict[str, bool] = {}
        self._fixed: list[Outage] = []
        self._turns = 0
        self._head = (prompts.alerts(self._world), prompts.changes(self._world), prompts.HISTORY)

    @property
    def over(self) -> bool:
        """Whether the filings are spent or every outage is fixed."""
        return self._filings_left == 0 or len(self._fixed) == len(self._world.outages)

    @property
    def _filings_left(self) -> int:
        return self.settings.filings - len(self._filed)

    def prompt(self, seat: int, round: int) -> Prompt:
        """What `seat` reads at the start of its turn; hands over its waiting cards."""
        for card in self._cards.pop(seat, ()):
            self._history.append((seat, card))
        seen = [b for reader, b in self._history if reader is None or reader == seat]
        failing = [o.alerting for o in self._world.outages if o not in self._fixed]
        state = prompts.state(
            self.settings,
            round=round,
            queries_left=self._queries[seat],
            filings_left=self._filings_left,
            failing=", ".join(failing),
        )
        return Prompt(
            (
                prompts.identity(self._spec.names[seat]),
                prompts.rules(self.settings, self._spec.listed),
            ),
            (*self._head, *seen, prompts.NOW, state),
        )

    def act(self, round: int, position: int, seat: int, heard: Heard) -> None:
        """Let a reply take effect, as far as it is legal."""
        turn = Turn(round, position, seat, heard)
        fields = self._texts(turn)
        self._note(turn, fields["note"])
        self._post(turn, fields["post"])
        query, file = decided(self.settings, fields)
        if query:
            self._query(turn, query)
        if file:
            self._file(turn, file)
        self._turns += 1
        self._desk.took_effect(turn)

    def _texts(self, turn: Turn) -> dict[str, str]:
        """The reply's four fields as storable text; anything else in it is refused."""
        given = turn.heard.reading.fields
        if turn.heard.reading.status == "invalid":
            reason = f"unreadable reply: {turn.heard.reading.rule}"
            turn.refusals.append(Refusal("reply", turn.heard.reply.text, reason))
        texts = dict.fromkeys(FIELDS, "")
        for key, value in given.items():
            if key not in texts:
                turn.refusals.append(Refusal(storable(str(key))[:40], "", "unknown field"))
            elif isinstance(value, str):
                texts[key] = storable(value).strip()
            elif value is not None:
                turn.refusals.append(Refusal(key, storable(reprlib.repr(value)), "not a text"))
        return texts

    def _cut(self, turn: Turn, field: str, text: str, limit: int) -> str:
        if len(text) <= limit:
            return text
        turn.refusals.append(Refusal(field, text[limit:], f"cut at {limit} characters"))
        return text[:limit]

    def _note(self, turn: Turn, text: str) -> None:
        turn.note = self._cut(turn, "note", text, self.settings.note_length)
        if turn.note:
            self._history.append((turn.seat, prompts.note(turn.round, turn.note)))

    def _post(self, turn: Turn, text: str) -> None:
        if not text:
            return
        if not self.settings.channel:
            turn.refusals.append(Refusal("post", text, "there is no channel"))
            return
        turn.post = self._cut(turn, "post", text, self.settings.post_length)
        block = prompts.post(turn.round, self._spec.names[turn.seat], turn.post)
        turn.post_block = self._desk.keep(block)
        self._history.append((None, block))

    def _query(self, turn: Turn, text: str) -> None:
        if text not in self.settings.services:
            reason = "no such service"
        elif turn.round < self.settings.query_round:
            reason = f"queries open in round {self.settings.query_round}"
        elif self._queries[turn.seat] == 0:
            reason = "no query left"
        else:
            turn.query = text
            self._queries[turn.seat] -= 1
            self._queried.append(text)
            self._deal(turn, text)
            return
        turn.refusals.append(Refusal("query", text, reason))

    def _deal(self, turn: Turn, service: str) -> None:
        """Make the card of `service`; the seat gets it with its next prompt."""
        kind, finding = "clean", prompts.CLEAN
        for outage in self._world.outages:
            if service == outage.alerting:
                kind, finding = "alerting", prompts.points_to(outage.root)
            elif service == outage.root:
                kind, finding = "root", prompts.caused_by(outage.cause, outage.twin)
        card = prompts.card(turn.round, service, finding)
        self._cards.setdefault(turn.seat, []).append(card)
        self._desk.log("cards", turn.round, turn.seat, service, kind, self._desk.keep(card))

    def _file(self, turn: Turn, text: str) -> None:
        change = self._changes.get(text)
        if change is None:
            reason = "no such change"
        elif turn.round < self.settings.file_round:
            reason = f"filings open in round {self.settings.file_round}"
        elif change.id in self._filed:
            reason = "already filed"
        elif self.over:
            reason = "the game is over"
        else:
            turn.file = change.id
            self._settle(turn, change.id, change.service)
            return
        turn.refusals.append(Refusal("file", text, reason))

    def _settle(self, turn: Turn, change: str, service: str) -> None:
        """Count a filing, fix what it fixes, and tell everybody."""
        outages = self._world.outages
        hit = next((i for i, o in enumerate(outages) if o.cause == change), None)
        self._filed[change] = hit is not None
        fixed = None
        if hit is not None:
            self._fixed.append(outages[hit])
            fixed = outages[hit].alerting
        author = self._spec.names[turn.seat]
        self._history.append((None, prompts.filing(turn.round, author, change, service, fixed)))
        self._desk.log(
            "filings", turn.round, turn.position, turn.seat, change, service, hit is not None, hit
        )

    def close(self, round: int) -> None:
        """Log how the game ended."""
        if len(self._fixed) == len(self._world.outages):
            reason = "fixed"
        elif self._filings_left == 0:
            reason = "filings spent"
        else:
            reason = "rounds over"
        self._desk.log(
            "outcomes",
            reason,
            round,
            self._turns,
            len(self._queried),
            len(self._queried) - len(set(self._queried)),
            len(self._filed),
            len(self._fixed),
            float(self._desk.env.now),
        )
