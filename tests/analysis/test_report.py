"""The report says whose numbers these are, holds every published quantity, and stays a report.

It is read here as a reader would: as text on a terminal, and as Markdown whose tables must stay
tables whatever agents have written into the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.positions import first_place, round1_plans
from analysis.report import share, write_report
from analysis.summary import SURROGATE_NOTE, shown_model, summary
from swarm.errors import LogError, UsageError
from swarm.log.store import Log
from swarm.study import Study

Copies = Callable[..., Path]
STAGES: dict[str, Any] = {"tagger": "rules", "schedule": "published"}


def written(log: Log, target: Path) -> tuple[str, str]:
    """The report as text and as Markdown."""
    text = write_report(log, **STAGES, markdown=target)
    return text, target.read_text(encoding="utf-8")


def tables(markdown: str) -> dict[str, list[list[str]]]:
    """Rows of cells of every table of a Markdown report, by title, headings first."""
    found: dict[str, list[list[str]]] = {}
    title = ""
    for line in markdown.split("\n"):
        if line.startswith("## "):
            title = line.removeprefix("## ")
        elif line.startswith("|") and not set(line) <= set("|-"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found.setdefault(title, []).append(cells)
    return found


# Whose numbers


def test_title_and_notes_say_surrogate_agents(small_log: Log, tmp_path: Path) -> None:
    text, markdown = written(small_log, tmp_path / "r.md")
    assert text.split("\n")[0] == "Outage rooms: 40 rooms, surrogate agents"
    assert "\n# Outage rooms: 40 rooms, surrogate agents\n" in markdown
    assert SURROGATE_NOTE.startswith("surrogate agents")
    assert SURROGATE_NOTE in text
    assert SURROGATE_NOTE in markdown


def test_a_model_is_never_named_without_its_mark(small_log: Log, tmp_path: Path) -> None:
    for report in written(small_log, tmp_path / "r.md"):
        for model in small_log.study.all_models:
            places = [match.end() for match in re.finditer(re.escape(model), report)]
            assert len(places) >= 4
            assert all(report[end:].startswith(" (surrogate)") for end in places)


def test_a_live_model_has_no_mark(small_log_path: Copies, tmp_path: Path) -> None:
    path = small_log_path()
    with Log.open(path) as log:
        log.con.execute("UPDATE studies SET surrogates = ['kimi-k3']")
        text, _ = written(log, tmp_path / "mixed.md")
        assert shown_model(log, "kimi-k3") == "kimi-k3 (surrogate)"
        assert "gpt-6.1-sol (surrogate)" not in text
        assert "surrogate agents" in text, "one surrogate is enough to say so"
        log.con.execute("UPDATE studies SET surrogates = []")
        assert "surrogate" not in write_report(log, **STAGES, markdown=tmp_path / "live.md")
        assert "agents" not in summary(log, **STAGES)


# What it holds


QUANTITIES = {
    "Beside the published run": {
        "rooms with a plan": "86 %",
        "rooms with plans by two or more": "over half",
        "plans per room": "1.66",
        "rooms with a leader": "4.9 %",
        "leaders": "105",
        "... by round-1 plan / later": "73 / 32",
        "followers of leaders": "268",
        "followed directives": "3600",
        "... with weight > 0": "1798",
        "mean A / mean B": ".65 / .32",
        "duplicate queries per room": "0.3",
        "tagger: recall / precision": "35/35 / 35/39",
    },
    "By model": dict.fromkeys(
        ("claude-sonnet-5.5", "gpt-6.1-sol", "gemini-3.1-pro", "kimi-k3"), ""
    ),
    "Round-1 plans by place": {"1": "", "8": ""},
    "Text at the": {
        "names the author in the post": "18 %",
        "only in the note": "17 %",
        "only in the reasoning text": "11 %",
        "speaks of a plan without the name": "12 %",
        "only other reasons": "42 %",
        "names the leader, of leaders' directives": "63 %",
    },
    "Weight by author's model": {},
    "Replies": {},
}


def squeezed(words: str) -> str:
    """Without articles and marks, so that a change of wording is no failure."""
    return re.sub(r"\b(a|the)\b|\(surrogate\)|\s+", "", words)


def test_every_published_quantity_stands_beside_its_number(small_log: Log, tmp_path: Path) -> None:
    _, markdown = written(small_log, tmp_path / "r.md")
    found = tables(markdown)
    assert len(found) >= len(QUANTITIES)
    for start, quantities in QUANTITIES.items():
        (title,) = (t for t in found if t.startswith(start))
        rows = {squeezed(row[0]): row for row in found[title]}
        for name, published in quantities.items():
            row = rows[squeezed(name)]
            assert published in row[-1]
            assert row[1]
    (places,) = (t for t in found if t.startswith("Round-1 plans by place"))
    assert "50 % against 16.6 %, ratio 3" in places


def test_the_report_repeats_the_summary(small_log: Log, tmp_path: Path) -> None:
    counts = summary(small_log, **STAGES)
    _, markdown = written(small_log, tmp_path / "r.md")
    rows = {row[0]: row[1] for row in tables(markdown)["Beside the published run"]}
    assert rows["rooms with a plan"] == share(counts["plan_rooms"], 40)
    assert rows["leaders"] == str(counts["leaders"])
    assert rows["followed directives"] == str(counts["followed"])
    assert rows["... with weight > 0"] == str(counts["positive_weights"])
    assert rows["mean A / mean B"] == f"{counts['mean_a']:.2f} / {counts['mean_b']:.2f}"


def test_without_a_channel_the_published_number_of_duplicates_is_the_other_one(
    small_log_path: Copies, tmp_path: Path
) -> None:
    path = small_log_path()
    with Log.open(path) as log:
        log.con.execute(
            "UPDATE studies SET settings = replace(settings, $1 || 'true', $1 || 'false')",
            ['"channel": '],
        )
    with Log.open(path) as log:
        found = tables(written(log, tmp_path / "r.md")[1])["Beside the published run"]
    assert next(row[-1] for row in found if row[0].startswith("duplicate")) == "4.4"


CONTRACT = [
    "rooms", "plan_rooms", "multi_plan_rooms", "leaders", "mirror_leaders", "leaders_round1",
    "leaders_later", "leaders_by_model", "followers", "followed", "positive_weights",
    "negative_weights", "mean_a", "mean_b", "duplicates_per_room", "solved_rooms",
]  # fmt: skip


def test_the_summary_has_exactly_the_keys_that_scripts_rely_on(small_log: Log) -> None:
    counts = summary(small_log, **STAGES)
    assert list(counts) == [*CONTRACT, "agents"]
    assert counts["agents"] == SURROGATE_NOTE
    assert counts["leaders_round1"] + counts["leaders_later"] == counts["leaders"]
    assert sum(counts["leaders_by_model"].values()) == counts["leaders"]
    assert all(name.endswith(" (surrogate)") for name in counts["leaders_by_model"])


def test_the_summary_counts_what_the_log_holds(small_log: Log) -> None:
    counts = summary(small_log, **STAGES)
    units = small_log.rows("SELECT a, b FROM influences")
    planners: dict[str, set[int]] = {}
    asked: dict[tuple[str, int, int], set[int]] = {}
    for room, round, seat, mate in small_log.rows(
        "SELECT room, round, seat, teammate FROM directives"
    ):
        asked.setdefault((room, round, seat), set()).add(mate)
    for (room, _, seat), mates in asked.items():
        if len(mates) >= 2:
            planners.setdefault(room, set()).add(seat)
    assert counts["rooms"] == 40
    assert counts["plan_rooms"] == len(planners)
    assert counts["multi_plan_rooms"] == sum(len(seats) >= 2 for seats in planners.values())
    assert counts["followed"] == len(units)
    assert counts["positive_weights"] == sum(a > b for a, b in units)
    assert counts["negative_weights"] == sum(a < b for a, b in units)
    assert counts["mean_a"] == pytest.approx(sum(a for a, _ in units) / len(units))
    assert counts["mean_b"] == pytest.approx(sum(b for _, b in units) / len(units))
    queried: dict[str, list[str]] = {}
    for room, service in small_log.rows("SELECT room, query FROM turns WHERE query IS NOT NULL"):
        queried.setdefault(room, []).append(service)
    doubles = sum(len(asked) - len(set(asked)) for asked in queried.values())
    assert counts["duplicates_per_room"] == pytest.approx(doubles / 40)
    fixes = small_log.rows("SELECT count(*) FROM filings WHERE correct GROUP BY room")
    assert counts["solved_rooms"] == sum(n == 4 for (n,) in fixes)


def test_an_unplayed_log_has_no_report(tmp_path: Path) -> None:
    with Log.open_or_create(tmp_path / "new.duckdb", Study(rooms=1)) as log:
        with pytest.raises(UsageError, match="no finished room"):
            write_report(log, **STAGES)
        assert not (tmp_path / "report.md").exists()


# Where it is written


def test_the_report_of_another_log_is_not_overwritten(small_log_path: Copies) -> None:
    first, second = small_log_path("first.duckdb"), small_log_path("second.duckdb")
    beside = first.with_name("report.md")
    for path in (first, second, first, second):
        with Log.open(path) as log:
            text = write_report(log, **STAGES)
        name = "report.md" if path == first else "second-report.md"
        assert text.endswith(f"Written to {path.with_name(name)}")
    assert "report of first.duckdb" in beside.read_text()
    assert "report of second.duckdb" in first.with_name("second-report.md").read_text()


def test_a_file_of_the_users_is_not_overwritten(small_log_path: Copies) -> None:
    path = small_log_path("study.duckdb")
    mine = path.with_name("report.md")
    mine.write_text("My thoughts about the study.")
    with Log.open(path) as log:
        write_report(log, **STAGES)
    assert mine.read_text() == "My thoughts about the study."
    assert path.with_name("study-report.md").exists()


def test_a_place_that_cannot_be_written_is_named(small_log: Log, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=r"cannot write .*nowhere"):
        write_report(small_log, **STAGES, markdown=tmp_path / "nowhere" / "report.md")


# What agents write


HOSTILE = "| x |\n## Leaders\n<script>alert(1)</script> <!-- \x1b[31m \x00 ``` [a](b) \u202e Ada"


def test_agents_text_cannot_break_the_report(small_log_path: Copies, tmp_path: Path) -> None:
    with Log.open(small_log_path()) as log:
        before = written(log, tmp_path / "before.md")
        log.con.execute(
            "UPDATE turns SET post = $1, note = $1, reply = $1, reasoning = $1 "
            "WHERE post_block IS NOT NULL", [HOSTILE]
        )  # fmt: skip
        log.con.execute("UPDATE replays SET reply = $1, reasoning = $1", [HOSTILE])
        log.con.execute("UPDATE blocks SET text = $1 WHERE kind = 'post'", [HOSTILE])
        log.con.execute("INSERT INTO intents SELECT room, 1, 0, $1, $1, $1 FROM rooms", [HOSTILE])
        log.con.execute("INSERT INTO refusals SELECT room, 1, 0, $1, $1, $1 FROM rooms", [HOSTILE])
        after = written(log, tmp_path / "after.md")
    for old, new in zip(before, after, strict=True):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]|<script|```", new)
        assert new.count("\n") == old.count("\n")
    was, now = tables(before[1]), tables(after[1])
    assert [len(rows) for rows in now.values()] == [len(rows) for rows in was.values()]
    for rows in now.values():
        assert len({len(row) for row in rows}) == 1, "every row has the cells of its heading"


# Shares and the first place


@pytest.mark.parametrize(
    ("part", "whole", "low", "high"),
    [(20, 75, 18.0, 37.6), (17, 75, 14.7, 33.3), (8, 75, 5.5, 19.7), (0, 20, 0.0, 16.11),
     (105, 2160, 4.03, 5.85), (384, 778, 45.9, 52.9)],
)  # fmt: skip
def test_a_share_carries_its_wilson_interval(
    part: int, whole: int, low: float, high: float
) -> None:
    numbers = [float(n) for n in re.findall(r"\d+\.\d", share(part, whole))]
    assert numbers[0] == pytest.approx(100 * part / whole, abs=0.0501)
    assert numbers[1:] == pytest.approx([low, high], abs=0.0601)


def test_a_share_of_nothing_is_no_number() -> None:
    assert share(0, 0) == "-"


def plans_of(first: float, other: float, worlds: int = 270, seed: int = 1) -> pd.DataFrame:
    """Planners of 8 rooms a world, drawn with those chances for the first place and the others."""
    rng = np.random.default_rng(seed)
    world, position = np.meshgrid(np.arange(worlds), np.arange(8), indexing="ij")
    chance = np.where(position == 0, first, other)
    return pd.DataFrame(
        {"world": world.ravel(), "position": position.ravel(), "agents": 8,
         "plans": rng.binomial(8, chance).ravel()}
    )  # fmt: skip


def test_the_effect_of_the_first_place_is_recovered() -> None:
    found = first_place(plans_of(0.5, 0.166))
    assert found.low < 0.5 / 0.166 < found.high
    assert found.ratio == pytest.approx(3.0, abs=0.25)
    assert (found.first, found.others) == pytest.approx((0.5, 0.166), abs=0.02)
    assert found.high - found.low < 0.6
    none = first_place(plans_of(0.2, 0.2))
    assert none.low < 1 < none.high


def test_the_interval_of_the_ratio_covers_it_as_often_as_it_says() -> None:
    hits = 0
    for seed in range(40):
        found = first_place(plans_of(0.5, 0.2, worlds=40, seed=seed))
        hits += found.low <= 2.5 <= found.high
    assert hits >= 34


def test_the_ratio_is_a_ratio_of_shares_and_the_bootstrap_draws_worlds() -> None:
    plans = plans_of(0.0, 0.0, worlds=6)
    plans.loc[plans["position"] == 0, "plans"] = 6
    plans.loc[plans["position"] != 0, "plans"] = 2
    found = first_place(plans)
    assert (found.first, found.others) == (0.75, 0.25)
    assert found.ratio == found.low == found.high == 3.0


def test_without_other_planners_there_is_no_ratio() -> None:
    assert not np.isfinite(first_place(plans_of(0.5, 0.0, worlds=4)).ratio)


def test_planners_are_counted_by_place(small_log: Log) -> None:
    plans = round1_plans(small_log, "rules")
    assert plans["agents"].sum() == 320
    assert plans["plans"].sum() == small_log.value("SELECT count(*) FROM plans WHERE round = 1")
    assert set(plans.loc[plans["position"] == 0, "name"]) == {"Ada"}
