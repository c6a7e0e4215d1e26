"""The report of an outage study: its numbers beside the published ones.

The same tables are printed and written as Markdown. A run with surrogate agents says so in its
title and wherever a model is named.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabulate import tabulate

from analysis.graph import influence_graph
from analysis.positions import first_place, round1_plans
from analysis.summary import SURROGATE_NOTE, shown_model, summary, surrogates_of
from classifiers.citations import CITATIONS, citation
from swarm.errors import LogError
from swarm.log.store import Log

PUBLISHED_ROOMS = 2160


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table; cells are text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]


def write_report(log: Log, *, tagger: str, schedule: str, markdown: Path | None = None) -> str:
    """Write the report as Markdown and return it as text for a terminal.

    Parameters
    ----------
    markdown : Path, optional
        Where to write; the default is ``report.md`` beside the log, or ``NAME-report.md`` when
        that file is not this log's report.

    Raises
    ------
    UsageError
        When the log holds no finished room.
    LogError
        When the file cannot be written.
    """
    title, notes, tables = _contents(log, tagger=tagger, schedule=schedule)
    mark = f"<!-- report of {log.path.name} -->"
    target = markdown or _default_target(log.path, mark)
    parts = [mark, f"# {title}", *notes]
    for table in tables:
        grid = tabulate(table.rows, table.columns, tablefmt="github", disable_numparse=True)
        parts.append(f"## {table.title}\n\n{grid}")
    try:
        target.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    except OSError as error:
        raise LogError(f"cannot write {target}: {error.strerror}") from error
    parts = [title, *notes]
    for table in tables:
        grid = tabulate(table.rows, table.columns, tablefmt="simple", disable_numparse=True)
        parts.append(f"{table.title}\n\n{grid}")
    return "\n\n".join(parts) + f"\n\nWritten to {target}"


def _default_target(log: Path, mark: str) -> Path:
    """``report.md`` beside the log unless it is something else; nothing is overwritten."""
    for name in ("report.md", f"{log.stem}-report.md"):
        target = log.with_name(name)
        if not target.exists():
            return target
        if target.is_file() and target.read_text("utf-8", errors="replace").startswith(mark):
            return target
    raise LogError(f"{target} is something else; say with --md where the report goes")


def _contents(log: Log, *, tagger: str, schedule: str) -> tuple[str, list[str], list[Table]]:
    counts = summary(log, tagger=tagger, schedule=schedule)
    study = log.study
    surrogate = bool(surrogates_of(log))
    title = f"Outage rooms: {counts['rooms']} rooms" + (", surrogate agents" if surrogate else "")
    notes = [
        f"Seed {study.seed}, names {study.name_order}, "
        f"channel {'on' if getattr(study.room_settings, 'channel', True) else 'off'}, "
        f"tagger {tagger}, schedule {schedule}."
    ]
    if surrogate:
        notes.append(f"All numbers are of {SURROGATE_NOTE}.")
    if counts["rooms"] < study.rooms:
        notes.append(f"{study.rooms - counts['rooms']} rooms of the study are not finished.")
    key = (log, tagger, schedule)
    return (
        title,
        notes,
        [
            _headline(log, counts, tagger),
            _by_model(*key),
            _positions(log, tagger),
            _citations(*key),
            _flow(*key),
            _replies(log),
        ],
    )


def share(part: float, whole: int) -> str:
    """``12.0 % (10.1-14.2)``: a share with its 95 % Wilson interval, both in per cent."""
    from statsmodels.stats.proportion import proportion_confint

    if not whole:
        return "-"
    low, high = proportion_confint(part, whole, method="wilson")
    return f"{100 * part / whole:.1f} % ({100 * low:.1f}-{100 * high:.1f})"


def _number(value: float | None, digits: int = 2) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.{digits}f}"


def _headline(log: Log, c: dict[str, Any], tagger: str) -> Table:
    rooms = c["rooms"]

    def scale(count: int) -> str:
        if rooms == PUBLISHED_ROOMS:
            return str(count)
        return f"{count} ({count * rooms / PUBLISHED_ROOMS:.0f} of {rooms})"

    agreement = _tagger_agreement(log, tagger)
    channel = getattr(log.study.room_settings, "channel", True)
    duplicates = _number(c["duplicates_per_room"])

    def pair(one: str, other: str, digits: int) -> str:
        return f"{_number(c[one], digits)} / {_number(c[other], digits)}"

    return Table(
        "Beside the published run",
        ("quantity", "this run", "published, 2,160 rooms"),
        [
            ("rooms with a plan", share(c["plan_rooms"], rooms), "86 %"),
            ("rooms with plans by two or more", share(c["multi_plan_rooms"], rooms), "over half"),
            ("plans per room", _number(_plans(log, tagger) / rooms), "1.66 implied"),
            ("rooms with a leader", share(c["leaders"], rooms), "4.9 % (4.0-5.9)"),
            ("leaders", str(c["leaders"]), scale(105)),
            ("... by round-1 plan / later", pair("leaders_round1", "leaders_later", 0), "73 / 32"),
            ("mirror leaders (rule on B - A)", str(c["mirror_leaders"]), "not published"),
            ("followers of leaders", str(c["followers"]), scale(268)),
            ("followed directives", str(c["followed"]), f"about {scale(3600)}, implied"),
            ("... with weight > 0", str(c["positive_weights"]), scale(1798)),
            ("... with A < B", str(c["negative_weights"]), "not published"),
            ("mean A / mean B", pair("mean_a", "mean_b", 2), ".65 / .32 implied"),
            ("duplicate queries per room", duplicates, "0.3" if channel else "4.4"),
            ("rooms with every outage fixed", share(c["solved_rooms"], rooms), "not published"),
            ("tagger: recall / precision", agreement, "35/35 / 35/39, by annotators"),
        ],
    )  # fmt: skip


def _plans(log: Log, tagger: str) -> int:
    return int(log.value("SELECT count(*) FROM plans WHERE tagger = ?", [tagger]))


def _tagger_agreement(log: Log, tagger: str) -> str:
    """Tagged directives against those that surrogates meant."""
    both, meant, tagged = log.rows(
        "WITH d AS (SELECT d.room, d.round, d.seat, s.name AS teammate, d.kind, d.target "
        "FROM directives d JOIN seats s ON s.room = d.room AND s.seat = d.teammate "
        "WHERE d.tagger = ?), "
        "i AS (SELECT DISTINCT * FROM intents) SELECT "
        "(SELECT count(*) FROM d JOIN i USING (room, round, seat, teammate, kind, target)), "
        "(SELECT count(*) FROM i), (SELECT count(*) FROM d)",
        [tagger],
    )[0]
    if not meant:
        return "no intended directives known"
    return f"{both}/{meant} / {both}/{tagged}, by what was meant"


def _by_model(log: Log, tagger: str, schedule: str) -> Table:
    published = {
        "claude-sonnet-5.5": "about 40",
        "gpt-6.1-sol": "about 40",
        "gemini-3.1-pro": "about 24",
        "kimi-k3": "1",
    }
    rows = log.rows(
        """
        WITH agents AS (
            SELECT s.model, s.room, s.seat FROM outcomes o JOIN seats s USING (room)
        )
        SELECT a.model, count(*) AS agents, count(p.seat),
            sum((SELECT count(*) FROM influences i WHERE i.room = a.room AND i.seat = a.seat
                AND i.tagger = $1 AND i.schedule = $2))::INTEGER,
            count(l.seat),
            sum((SELECT count(DISTINCT i.seat) FROM influences i JOIN leaders k
                ON k.room = i.room AND k.seat = i.seat AND k.tagger = i.tagger
                AND k.schedule = i.schedule AND k.rule = 'published'
                WHERE i.room = a.room AND i.teammate = a.seat AND i.weight > 0
                AND i.tagger = $1 AND i.schedule = $2))::INTEGER
        FROM agents a
        LEFT JOIN plans p ON p.room = a.room AND p.seat = a.seat AND p.round = 1 AND p.tagger = $1
        LEFT JOIN leaders l ON l.room = a.room AND l.seat = a.seat AND l.tagger = $1
            AND l.schedule = $2 AND l.rule = 'published'
        GROUP BY ALL ORDER BY a.model
        """,
        [tagger, schedule],
    )
    return Table(
        "By model",
        (
            "model",
            "agents",
            "round-1 plans per 100",
            "followed directives per 100",
            "leaders",
            "published leaders",
            "followers of leaders",
        ),
        [
            (
                shown_model(log, model),
                str(agents),
                f"{100 * plans / agents:.1f}",
                f"{100 * followed / agents:.1f}",
                str(leaders),
                published.get(model, "-"),
                str(followers),
            )
            for model, agents, plans, followed, leaders, followers in rows
        ],
    )


def _positions(log: Log, tagger: str) -> Table:
    plans = round1_plans(log, tagger)
    effect = first_place(plans)
    rows = []
    for position, group in plans.groupby("position"):
        total = group[["agents", "plans"]].sum()
        names = ", ".join(sorted(group["name"].unique()))
        rows.append(
            (
                str(int(str(position)) + 1),
                names if len(names) < 40 else "all names",
                share(int(total["plans"]), int(total["agents"])),
            )
        )
    published = "published: about 50 % against 16.6 %, ratio 3"
    return Table(
        f"Round-1 plans by place in the prompt's list: first against others "
        f"{_number(effect.ratio)} ({_number(effect.low)}-{_number(effect.high)}); {published}",
        ("place", "name", "agents that plan"),
        rows,
    )


_CITATION_ROWS = {
    "post": ("names the author in the post", "18 %"),
    "note": ("only in the note", "17 %"),
    "reasoning": ("only in the reasoning text", "11 %"),
    "plan": ("speaks of a plan without the name", "12 %"),
    "other": ("only other reasons", "42 %"),
}


def _citations(log: Log, tagger: str, schedule: str) -> Table:
    """How followers explain the decisions that directives changed."""
    of_all, of_leaders = dict.fromkeys(CITATIONS, 0), dict.fromkeys(CITATIONS, 0)
    for author, post, note, reasoning, leads in log.rows(
        "SELECT a.name, t.post, t.note, t.reasoning, l.seat IS NOT NULL FROM influences i "
        "JOIN seats a ON a.room = i.room AND a.seat = i.seat "
        "JOIN turns t ON t.room = i.room AND t.round = i.decision_round AND t.seat = i.teammate "
        "LEFT JOIN leaders l ON l.room = i.room AND l.seat = i.seat AND l.rule = 'published' "
        "AND l.tagger = i.tagger AND l.schedule = i.schedule "
        "WHERE i.weight > 0 AND i.tagger = ? AND i.schedule = ?",
        [tagger, schedule],
    ):
        kind = citation(author, post=post, note=note, reasoning=reasoning)
        of_all[kind] += 1
        of_leaders[kind] += leads
    whole, led = sum(of_all.values()), sum(of_leaders.values())
    named = sum(of_leaders[kind] for kind in ("post", "note", "reasoning"))
    rows = [
        (label, share(of_all[kind], whole), published)
        for kind, (label, published) in zip(CITATIONS, _CITATION_ROWS.values(), strict=True)
    ]
    rows.append(("names the leader, of leaders' directives", share(named, led), "63 %"))
    return Table(
        f"Text at the {whole} changed decisions (read by rules)",
        ("text", "this run", "published, of 1,798"),
        rows,
    )


def _flow(log: Log, tagger: str, schedule: str) -> Table:
    """Weight from author's model to follower's model."""
    graph = influence_graph(log, tagger=tagger, schedule=schedule, by="model")
    nodes = list(graph)
    return Table(
        "Weight by author's model (rows) and follower's model (columns)",
        ("from \\ to", *(shown_model(log, n) for n in nodes), "all"),
        [
            (
                shown_model(log, a),
                *(
                    _number(graph[a][b]["weight"], 1) if graph.has_edge(a, b) else "-"
                    for b in nodes
                ),
                _number(graph.out_degree(a, weight="weight"), 1),
            )
            for a in nodes
        ],
    )


def _replies(log: Log) -> Table:
    """Replies by status, per model: what an unreadable reply costs must be seen."""
    rows = log.rows(
        "SELECT model, count(*), count(*) FILTER (status = 'repaired'), "
        "count(*) FILTER (status = 'invalid'), sum(attempts - 1)::INTEGER, "
        "(SELECT count(*) FROM refusals r JOIN seats s USING (room, seat) WHERE s.model = t.model "
        "AND r.field <> 'reply') FROM turns t GROUP BY model ORDER BY model"
    )
    return Table(
        "Replies",
        ("model", "turns", "repaired", "invalid (a pass)", "asked again", "refusals"),
        [(shown_model(log, row[0]), *(str(cell) for cell in row[1:])) for row in rows],
    )
