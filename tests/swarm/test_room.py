"""A room is a durable program: its spec and its replies decide all that happens in it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from swarm.design import RoomSpec
from swarm.errors import ModelError
from swarm.log.tables import schemas
from swarm.models.base import Intent, Reply
from swarm.models.recorded import Missing
from swarm.prompt import Prompt, block
from swarm.room import Desk, Record, Refusal, Turn, play_room
from swarm.scenario import Rows
from swarm.streams import seed_of, stream

SEATS = 4
Answer = Callable[[int, int], Reply]
"""From the number of the call and the seed to the reply."""


class Fake:
    """A model that answers after a real delay, and remembers what it was asked."""

    surrogate = False

    def __init__(self, name: str, answer: Answer | None = None, delay: float = 0.0) -> None:
        self.name, self.delay = name, delay
        self.asked: list[tuple[Prompt, int]] = []
        self._answer = answer or (lambda _, seed: Reply(json.dumps({"post": f"{name} {seed}"})))

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        self.asked.append((prompt, seed))
        number = len(self.asked)
        await asyncio.sleep(self.delay)
        return self._answer(number, seed)


class Toy:
    """A game of `rounds` rounds: round 1 together, then one by one; posts are seen at once."""

    def __init__(self, rounds: int = 2, extra_draws: int = 0) -> None:
        self.rounds, self.extra_draws = rounds, extra_draws

    def program(self, spec: RoomSpec, desk: Desk) -> Generator[Any, Any, None]:
        seen = [block("rules", "say something")]
        for round in range(1, self.rounds + 1):
            for _ in range(self.extra_draws):
                stream(spec.seed, "extra").random()
                desk.order(round + 50)
            order = desk.order(round)
            if round == 1:
                replies = yield desk.ask_all([(s, Prompt((), tuple(seen))) for s in order], round=1)
            for position, seat in enumerate(order):
                heard = (
                    replies[position]
                    if round == 1
                    else (yield desk.ask(seat, Prompt((), tuple(seen)), round=round))
                )
                turn = Turn(
                    round, position, seat, heard, post=str(heard.reading.fields.get("post"))
                )
                turn.refusals.append(Refusal("post", "v" * 500, "too long"))
                said = block("post", f"{seat}: {turn.post}")
                turn.post_block = desk.keep(said)
                seen.append(said)
                desk.took_effect(turn)
        desk.log("outcomes", "rounds over", round, 0, 0, 0, 0, 0, float(desk.env.now))


def spec_of(retries: int = 1, seed: int = 11) -> RoomSpec:
    names = tuple("ABCDEFGH"[:SEATS])
    models = tuple(f"m{seat}" for seat in range(SEATS))
    return RoomSpec("w000_r0", 0, 0, seed, 5, names, models, names, None, retries)


def fakes(answer: Answer | None = None, delays: tuple[float, ...] = (0.0,) * 4) -> dict[str, Fake]:
    return {f"m{seat}": Fake(f"m{seat}", answer, delays[seat]) for seat in range(SEATS)}


def play(
    models: dict[str, Any],
    *,
    spec: RoomSpec | None = None,
    game: Any = None,
    record: Record | None = None,
    sink: Callable[[Rows], None] | None = None,
) -> Rows:
    rows: Rows = {}

    def keep(more: Rows) -> None:
        for table, given in more.items():
            rows.setdefault(table, []).extend(given)
        if sink is not None:
            sink(more)

    asyncio.run(play_room(game or Toy(), spec or spec_of(), models, record=record, sink=keep))
    return rows


def column(rows: Rows, name: str, table: str = "turns") -> list[Any]:
    index = schemas()[table].names.index(name)
    return [row[index] for row in rows[table]]


def turn_of(rows: Rows, round: int, seat: int) -> dict[str, Any]:
    turns = [dict(zip(schemas()["turns"].names, row, strict=True)) for row in rows["turns"]]
    return next(turn for turn in turns if (turn["round"], turn["seat"]) == (round, seat))


def record_of(rows: Rows) -> dict[tuple[int, int], tuple[Reply, ...]]:
    """The record that the turns of `rows` make, when all were read at the first try."""
    columns = [column(rows, name) for name in ("round", "seat", "reply", "latency")]
    return {
        (round, seat): (Reply(text, latency=latency),)
        for round, seat, text, latency in zip(*columns, strict=True)
    }


def test_round_1_takes_effect_in_turn_order_whoever_answers_first() -> None:
    quick = play(fakes())
    for delays in [(0.03, 0.02, 0.01, 0.0), (0.0, 0.01, 0.02, 0.03), (0.0, 0.03, 0.01, 0.02)]:
        assert play(fakes(delays=delays)) == quick
    order = column(quick, "seat")[:SEATS]
    assert order != sorted(order)
    assert column(quick, "position")[:SEATS] == [0, 1, 2, 3]


def test_round_1_takes_effect_in_turn_order_whatever_the_latency() -> None:
    flat = play(fakes())
    for shift in range(SEATS):
        models = fakes()
        for seat in range(SEATS):
            late = float((seat + shift) % SEATS)
            text = "{}"
            models[f"m{seat}"] = Fake(
                f"m{seat}", lambda _n, _s, t=text, s=late: Reply(t, latency=s)
            )
        rows = play(models)
        assert column(rows, "seat") == column(flat, "seat")
        assert column(rows, "finished")[:SEATS] == [3.0] * SEATS


def test_round_1_is_asked_all_at_once_and_later_turns_one_after_the_other() -> None:
    waiting, most = 0, {"now": 0}
    peaks: list[int] = []

    class Counting(Fake):
        async def reply(self, prompt: Prompt, seed: int) -> Reply:
            nonlocal waiting
            waiting += 1
            most["now"] = max(most["now"], waiting)
            answer = await super().reply(prompt, seed)
            waiting -= 1
            peaks.append(waiting + 1)
            return answer

    play({f"m{seat}": Counting(f"m{seat}", delay=0.005) for seat in range(SEATS)})
    assert most["now"] == SEATS
    assert peaks[SEATS:] == [1] * SEATS


def test_later_turns_see_what_came_before_and_round_1_sees_nothing() -> None:
    models = fakes()
    rows = play(models)
    order = [
        seat
        for round, seat in zip(column(rows, "round"), column(rows, "seat"), strict=True)
        if round == 2
    ]
    for seat in range(SEATS):
        first, second = (prompt for prompt, _ in models[f"m{seat}"].asked)
        assert len(first.turn) == 1
        assert len(second.turn) == 1 + SEATS + order.index(seat)


def test_a_spec_and_its_replies_decide_the_room() -> None:
    assert play(fakes()) == play(fakes())
    assert play(fakes(), spec=spec_of(seed=12)) != play(fakes())


def test_recorded_replies_come_first_and_live_ones_after() -> None:
    whole = play(fakes())
    record = record_of(whole)
    for known in range(2 * SEATS + 1):
        models = fakes()
        part = dict(list(record.items())[:known])
        assert play(models, record=part) == whole
        assert sum(len(m.asked) for m in models.values()) == 2 * SEATS - known


def test_a_whole_record_needs_no_model_at_all() -> None:
    whole = play(fakes())
    nobody = {f"m{seat}": Missing(f"m{seat}") for seat in range(SEATS)}
    assert play(nobody, record=record_of(whole)) == whole
    with pytest.raises(LookupError, match="m0"):
        play(nobody, record={k: v for k, v in record_of(whole).items() if k != (2, 0)})


def test_an_unreadable_reply_is_asked_for_again_with_another_seed() -> None:
    models = fakes()
    first = Reply("what?", latency=2.0, tokens_in=7)
    then = Reply('{"post": "again"}', latency=3.0)
    models["m1"] = Fake("m1", lambda number, _: first if number == 1 else then)
    rows = play(models)
    turn = turn_of(rows, 1, 1)
    assert (turn["attempts"], turn["status"], turn["latency"]) == (2, "ok", 3.0)
    assert turn["reply"] == '{"post": "again"}'
    assert rows["discarded"] == [("w000_r0", 1, 1, 0, "what?", 7, None, None, 2.0)]
    seeds = [seed for _, seed in models["m1"].asked]
    assert seeds[:2] == [seed_of(11, "seat", 1, 1, 0), seed_of(11, "seat", 1, 1, 1)]
    assert turn["finished"] == 5.0  # both tries count on the room's clock


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_after_the_last_retry_the_turn_is_a_pass(retries: int) -> None:
    models = fakes(lambda n, _: Reply(f"no {n}"))
    rows = play(models, spec=spec_of(retries))
    assert {len(m.asked) for m in models.values()} == {2 * (1 + retries)}
    assert set(column(rows, "attempts")) == {1 + retries}
    assert set(column(rows, "status")) == {"invalid"}
    assert len(rows.get("discarded", [])) == 2 * SEATS * retries


def test_recorded_tries_are_not_asked_for_again() -> None:
    models = fakes(lambda _n, _s: Reply("{}"))
    record = {(1, 0): (Reply("bad"),), (1, 1): (Reply("bad"), Reply('{"post": "x"}'))}
    rows = play(models, record=record)
    assert models["m0"].asked[0][1] == seed_of(11, "seat", 0, 1, 1)
    assert len(models["m0"].asked) == 2
    assert len(models["m1"].asked) == 1
    assert (turn_of(rows, 1, 1)["reply"], turn_of(rows, 1, 1)["attempts"]) == ('{"post": "x"}', 2)
    assert len(rows["discarded"]) == 2


def test_the_rooms_clock_adds_up_the_latencies() -> None:
    rows = play(fakes(lambda n, _: Reply("{}", latency=1.5 if n == 1 else 10.0)))
    assert column(rows, "finished") == [1.5] * SEATS + [11.5, 21.5, 31.5, 41.5]
    assert column(rows, "seconds", "outcomes") == [41.5]


def test_a_draw_added_to_one_stream_moves_no_other() -> None:
    assert play(fakes(), game=Toy(extra_draws=3)) == play(fakes())


def test_one_seats_retry_moves_no_other_seats_seed() -> None:
    calm, upset = fakes(), fakes()
    upset["m2"] = Fake("m2", lambda n, _: Reply("what?" if n % 2 else "{}"))
    play(calm)
    play(upset)
    for seat in (0, 1, 3):
        seeds = [seed for _, seed in upset[f"m{seat}"].asked]
        assert seeds == [seed for _, seed in calm[f"m{seat}"].asked]


def test_the_turn_order_is_a_permutation_of_its_own_in_every_round() -> None:
    desk = Desk(spec_of())
    orders = [desk.order(round) for round in range(1, 30)]
    assert all(sorted(order) == list(range(SEATS)) for order in orders)
    assert len({tuple(order) for order in orders}) > 10
    assert desk.order(3) == orders[2]


def test_a_turns_rows_come_together_with_every_block_of_its_prompt() -> None:
    handed: list[Rows] = []
    models = fakes(lambda _n, _s: Reply("{}", intents=(Intent("B", "query", "cart"),)))
    rows = play(models, sink=handed.append)
    blocks: set[int] = set()
    for batch in handed:
        keys = [(row[1], row[3]) for row in batch["turns"]]
        for table in ("prompts", "refusals", "intents"):
            assert [(row[1], row[2]) for row in batch[table]] == keys
        blocks |= {row[0] for row in batch.get("blocks", [])}
        assert all(set(row[3]) | set(row[4]) <= blocks for row in batch["prompts"])
    assert len(handed) == 1 + SEATS
    assert len(rows["blocks"]) == len({row[0] for row in rows["blocks"]})
    assert {len(row[4]) for row in rows["refusals"]} == {200}


def test_a_reply_is_cut_and_made_storable_before_it_is_kept() -> None:
    rows = play(fakes(lambda _n, _s: Reply("\ud800" * 30_000, reasoning="half \ud83d")))
    assert set(column(rows, "reply")) == {"\ufffd" * 20_000}
    assert set(column(rows, "reasoning")) == {"half \ufffd"}


def test_a_model_that_gives_up_stops_the_room() -> None:
    def refuse(_n: int, _s: int) -> Reply:
        raise ModelError("no credit")

    with pytest.raises(ModelError, match="no credit"):
        play(fakes() | {"m3": Fake("m3", refuse)})


def test_a_program_that_waits_for_no_reply_is_a_bug() -> None:
    class Stuck:
        def program(self, _: RoomSpec, desk: Desk) -> Generator[Any, Any, None]:
            yield desk.env.event()

    with pytest.raises(AssertionError, match="waits for something"):
        play(fakes(), game=Stuck())
