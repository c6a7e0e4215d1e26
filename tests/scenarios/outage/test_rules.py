"""The rules, one by one, in rooms whose replies are written out.

A room is fed from a record, as when it is resumed: the replies that matter are given, everybody
else passes. What the rules made of them is read from the rows that the room leaves for its log.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from scenarios.outage import OutageRoom, OutageSettings
from scenarios.outage.world import World, make_world
from swarm.design import RoomSpec
from swarm.log.tables import schemas
from swarm.models.base import Reply
from swarm.prompt import Prompt
from swarm.room import play_room
from swarm.study import make_study

Replies = dict[tuple[int, int], dict[str, Any] | str]


class Silent:
    """A model that passes every turn."""

    name = "silent"
    surrogate = True

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        """An empty reply."""
        return Reply("{}")


@dataclass(frozen=True)
class Game:
    """A played room."""

    spec: RoomSpec
    rows: dict[str, list[dict[str, Any]]]  # of the log's tables, by column

    @property
    def world(self) -> World:
        """The room's world, with its truth."""
        assert isinstance(self.spec.settings, OutageSettings)
        return make_world(self.spec.settings, self.spec.world_seed)

    @property
    def turns(self) -> list[tuple[int, int]]:
        """(round, seat) in the order in which the turns took effect."""
        return [(row["round"], row["seat"]) for row in self.rows["turns"]]

    @property
    def outcome(self) -> dict[str, Any]:
        """The row that ends the room."""
        (row,) = self.rows["outcomes"]
        return row

    def turn(self, round: int, seat: int) -> dict[str, Any]:
        """What took effect in a turn."""
        (row,) = (r for r in self.rows["turns"] if (r["round"], r["seat"]) == (round, seat))
        return {name: row[name] for name in ("status", "note", "post", "query", "file")}

    def refused(self, round: int, seat: int) -> list[tuple[str, str, str]]:
        """(field, value, reason) of what was refused in a turn."""
        return [
            (row["field"], row["value"], row["reason"])
            for row in self.rows.get("refusals", ())
            if (row["round"], row["seat"]) == (round, seat)
        ]

    def blocks(self, round: int, seat: int) -> list[tuple[str, str]]:
        """(kind, text) of the blocks of a turn's prompt."""
        known = {row["block"]: (row["kind"], row["text"]) for row in self.rows["blocks"]}
        (row,) = (r for r in self.rows["prompts"] if (r["round"], r["seat"]) == (round, seat))
        return [known[block] for block in (*row["system"], *row["turn"])]

    def prompt(self, round: int, seat: int, kind: str) -> list[str]:
        """The blocks of that kind in a turn's prompt."""
        return [text for k, text in self.blocks(round, seat) if k == kind]


def spec_of(seed: int = 3, **room: Any) -> RoomSpec:
    """A room with eight silent seats under the published settings, but for `room`."""
    study = make_study({"rooms": 1, "seed": seed, "room": room, "retries": 0})
    return replace(next(study.specs()), models=("silent",) * 8)


def play(
    replies: Mapping[tuple[int, int], dict[str, Any] | str], *, seed: int = 3, **room: Any
) -> Game:
    """Play the room of `seed`, in which seats reply as given and otherwise pass."""
    record = {
        key: (Reply(given if isinstance(given, str) else json.dumps(given)),)
        for key, given in replies.items()
    }
    game = Game(spec_of(seed, **room), {})

    def sink(rows: dict[str, list[tuple[Any, ...]]]) -> None:
        for table, more in rows.items():
            names = schemas()[table].names
            game.rows.setdefault(table, []).extend(dict(zip(names, r, strict=True)) for r in more)

    asyncio.run(play_room(OutageRoom(), game.spec, {"silent": Silent()}, record=record, sink=sink))
    return game


WORLD = play({}).world
CAUSES = [outage.cause for outage in WORLD.outages]
HARMLESS = [outage.twin for outage in WORLD.outages] + [outage.decoy for outage in WORLD.outages]


def filings(changes: Sequence[str], round: int = 3) -> Replies:
    """Seats 0, 1, ... file these changes, all in one round."""
    return {(round, seat): {"file": change} for seat, change in enumerate(changes)}


@pytest.mark.parametrize("round", range(1, 9))
def test_queries_open_in_round_two(round: int) -> None:
    game = play({(round, 4): {"query": "cart"}})
    if round == 1:
        assert game.turn(1, 4)["query"] is None
        assert game.refused(1, 4) == [("query", "cart", "queries open in round 2")]
    else:
        assert game.turn(round, 4)["query"] == "cart"
        assert game.refused(round, 4) == []


@pytest.mark.parametrize("round", range(1, 9))
def test_filings_open_in_round_three(round: int) -> None:
    game = play({(round, 4): {"file": CAUSES[0]}})
    if round < 3:
        assert game.turn(round, 4)["file"] is None
        assert game.refused(round, 4) == [("file", CAUSES[0], "filings open in round 3")]
        assert game.outcome["filings"] == 0
    else:
        assert game.turn(round, 4)["file"] == CAUSES[0]
        assert game.outcome["filings"] == game.outcome["fixed"] == 1


def test_an_agent_has_one_query_in_the_whole_game() -> None:
    game = play({(2, 1): {"query": "cart"}, (3, 1): {"query": "auth"}, (8, 1): {"query": "cart"}})
    assert [row["service"] for row in game.rows["cards"]] == ["cart"]
    for later in (3, 8):
        assert [reason for *_, reason in game.refused(later, 1)] == ["no query left"]


def test_a_refused_query_is_not_spent() -> None:
    game = play({(1, 1): {"query": "cart"}, (2, 1): {"query": "fax"}, (3, 1): {"query": "cart"}})
    assert game.refused(2, 1) == [("query", "fax", "no such service")]
    assert game.turn(3, 1)["query"] == "cart"


def test_a_duplicate_is_a_query_of_a_service_that_was_queried_before() -> None:
    asked = ["cart", "cart", "auth", "cart", "auth", "email"]
    game = play({(2, seat): {"query": service} for seat, service in enumerate(asked)})
    assert (game.outcome["queries"], game.outcome["duplicates"]) == (6, 3)


def test_services_and_ids_may_be_spelled_carelessly() -> None:
    game = play({(2, 0): {"query": " CART\n"}, (3, 0): {"file": f" {CAUSES[0].lower()} "}})
    assert game.turn(2, 0)["query"] == "cart"
    assert game.turn(3, 0)["file"] == CAUSES[0]


@pytest.mark.parametrize("nothing", ["", "  ", "none", "null", "None", None])
def test_an_empty_field_is_no_attempt(nothing: str | None) -> None:
    game = play({(3, 0): {"query": nothing, "file": nothing}})
    assert game.refused(3, 0) == []


def test_a_card_reaches_its_seat_at_the_start_of_its_next_turn_and_nobody_else() -> None:
    game = play({(2, 5): {"query": WORLD.outages[0].root}})
    for round, seat in game.turns:
        cards = game.prompt(round, seat, "card")
        assert len(cards) == (1 if seat == 5 and round >= 3 else 0)


def test_a_card_comes_after_what_happened_since_its_query() -> None:
    first, *_, last = [seat for round, seat in play({}).turns if round == 2]
    game = play({(2, first): {"query": "cart"}, (2, last): {"post": "in between"}})
    kinds = [kind for kind, _ in game.blocks(3, first)]
    assert [kind for kind in kinds if kind in ("post", "card")] == ["post", "card"]


def test_cards_say_what_the_services_part_in_the_outage_is() -> None:
    outage = WORLD.outages[1]
    involved = {s for o in WORLD.outages for s in (o.root, o.alerting)}
    sound = next(s for s in OutageSettings().services if s not in involved)
    asked = [outage.alerting, outage.root, sound]
    game = play({(2, seat): {"query": service} for seat, service in enumerate(asked)})
    alerting, root, clean = (game.prompt(3, seat, "card")[0] for seat in range(3))
    assert outage.root in alerting
    assert outage.cause not in alerting
    assert f"began with {outage.cause}; {outage.twin} changed nothing" in root
    assert clean.endswith("nothing is wrong here")
    assert not re.search(r"D-\d", clean)
    kinds = {row["service"]: row["kind"] for row in game.rows["cards"]}
    assert kinds == dict(zip(asked, ["alerting", "root", "clean"], strict=True))


@pytest.mark.parametrize("change", HARMLESS)
def test_a_wrong_filing_is_spent_and_fixes_nothing(change: str) -> None:
    game = play({(3, 0): {"file": change}})
    assert (game.outcome["filings"], game.outcome["fixed"]) == (1, 0)
    assert "the team has 3 left" in game.prompt(4, 0, "state")[0]
    assert all("wrong" in game.prompt(4, seat, "filing")[0] for seat in range(8))


def test_a_correct_filing_fixes_its_outage_for_everybody_to_see() -> None:
    game = play({(3, 0): {"file": CAUSES[2]}})
    fixed = WORLD.outages[2].alerting
    for seat in range(8):
        assert f"correct, {fixed} is fixed" in game.prompt(4, seat, "filing")[0]
        failing = game.prompt(4, seat, "state")[0].partition("Still failing: ")[2]
        left = [o.alerting for o in WORLD.outages if o.alerting != fixed]
        assert failing == f"{', '.join(left)}."


@pytest.mark.parametrize("change", [CAUSES[0], HARMLESS[0]])
def test_a_repeated_filing_is_rejected_and_not_spent(change: str) -> None:
    game = play(filings([change] * 8) | filings([change] * 8, round=5))
    assert game.outcome["filings"] == len(game.rows["filings"]) == 1
    reasons = [row["reason"] for row in game.rows["refusals"]]
    assert reasons == ["already filed"] * 15
    assert game.outcome["rounds"] == 8


def test_the_fourth_filing_ends_the_game_at_once() -> None:
    game = play(filings(HARMLESS))
    assert game.outcome["reason"] == "filings spent"
    in_round_3 = [seat for round, seat in game.turns if round == 3]
    filed = [row["change"] for row in game.rows["filings"]]
    assert (len(filed), len(in_round_3), game.outcome["rounds"]) == (4, 4, 3)


def test_the_fourth_fix_ends_the_game_at_once() -> None:
    game = play(filings(CAUSES[:3]) | {(4, 6): {"file": CAUSES[3]}})
    assert game.outcome["reason"] == "fixed"
    assert game.turns[-1] == (4, 6)


def test_fixing_everything_ends_the_game_with_filings_to_spare() -> None:
    game = play(filings(CAUSES), filings=20)
    assert game.outcome["reason"] == "fixed"
    assert max(game.turns)[0] == 3
    assert game.outcome["filings"] == 4


def test_round_eight_ends_the_game() -> None:
    game = play(filings(CAUSES[:3]))
    assert (game.outcome["reason"], game.outcome["rounds"]) == ("rounds over", 8)
    assert len(game.turns) == 64


def test_an_unknown_change_is_refused_and_not_spent() -> None:
    game = play({(3, 0): {"file": "D-1"}, (4, 0): {"file": "cart"}})
    assert game.refused(3, 0) == [("file", "D-1", "no such change")]
    assert game.outcome["filings"] == 0


@pytest.mark.parametrize("length", [1, 279, 280, 281, 5000])
def test_a_post_is_cut_at_280_characters_and_marked(length: int) -> None:
    post = "".join(chr(ord("a") + k % 26) for k in range(length))
    game = play({(1, 2): {"post": post}})
    assert game.turn(1, 2)["post"] == post[:280]
    cut = [("post", post[280:480], "cut at 280 characters")] if length > 280 else []
    assert game.refused(1, 2) == cut
    assert json.dumps(post[:280]) in game.prompt(2, 0, "post")[0]


def test_what_is_illegal_is_refused_and_the_rest_counts() -> None:
    reply = {"note": "mine", "post": "hello", "query": "cart", "file": "D-1", "vote": "Bo"}
    game = play({(3, 3): reply, (4, 3): {"post": ["a"], "note": {"x": 1}, "file": HARMLESS[0]}})
    assert game.turn(3, 3) == {
        "status": "ok", "note": "mine", "post": "hello", "query": "cart", "file": None,
    }  # fmt: skip
    assert {(f, r) for f, _, r in game.refused(3, 3)} == {
        ("vote", "unknown field"),
        ("file", "no such change"),
    }
    assert {(f, r) for f, _, r in game.refused(4, 3)} == {
        ("post", "not a text"),
        ("note", "not a text"),
    }
    assert game.turn(4, 3)["file"] == HARMLESS[0]


@pytest.mark.parametrize("reply", ["", "   ", "[]", "null", '"post"', "I pass.", "{" * 3000])
def test_an_unreadable_reply_is_a_pass_with_a_reason(reply: str) -> None:
    game = play({(2, 0): reply})
    assert game.turn(2, 0) == {
        "status": "invalid", "note": "", "post": "", "query": None, "file": None,
    }  # fmt: skip
    ((field, _, reason),) = game.refused(2, 0)
    assert (field, reason.partition(":")[0]) == ("reply", "unreadable reply")
    assert game.outcome["rounds"] == 8


def test_without_a_channel_nobody_posts_and_nobody_is_read() -> None:
    replies = {(r, s): {"post": "cart!", "note": "n"} for r in (1, 2, 3) for s in range(8)}
    game = play(replies, channel=False)
    assert not any(game.prompt(round, seat, "post") for round, seat in game.turns)
    assert not any(game.turn(round, seat)["post"] for round, seat in game.turns)
    assert [row["reason"] for row in game.rows["refusals"]] == ["there is no channel"] * 24
    assert all("#outage" not in text for text in game.prompt(1, 0, "rules"))


def test_a_note_comes_back_to_its_author_only() -> None:
    game = play({(1, 2): {"note": "the blue key"}, (4, 2): {"note": "again"}})
    for round, seat in game.turns:
        notes = game.prompt(round, seat, "note")
        assert len(notes) == (seat == 2) * ((round > 1) + (round > 4))
