"""``show``: one room as a readable transcript."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import click

from swarm.cli.options import ENVIRONMENT, log_file, option


@click.command(epilog=f"Example: python -m swarm show trial.duckdb w003_r1 --notes. {ENVIRONMENT}")
@log_file
@click.argument("room", required=False)
@option("--notes", is_flag=True, default=False, help="Show the private notes too.")
@option("--prompts", is_flag=True, default=False, help="Show what every turn's model read.")
def command(file: Path, room: str | None, notes: bool, prompts: bool) -> None:
    """Print ROOM of FILE as a transcript; without ROOM, list the rooms."""
    from swarm.log.store import Log

    with Log.open(file) as log:
        text = _transcript(log, room, notes=notes, prompts=prompts) if room else _rooms(log)
    click.echo_via_pager(text) if room is None else click.echo(text)


def _rooms(log: Any) -> str:
    rows = log.rows(
        "SELECT r.room, o.reason, o.rounds, o.fixed, s.name FROM rooms r "
        "LEFT JOIN outcomes o USING (room) LEFT JOIN leaders l ON l.room = r.room "
        "AND l.rule = 'published' LEFT JOIN seats s ON s.room = l.room AND s.seat = l.seat "
        "ORDER BY r.room"
    )
    return "\n".join(
        f"{room}  {reason or 'not finished'}"
        + (f", {fixed} fixed in {rounds} rounds" if reason else "")
        + (f", led by {leader}" if leader else "")
        for room, reason, rounds, fixed, leader in rows
    )


def _transcript(log: Any, room: str, *, notes: bool, prompts: bool) -> str:
    from swarm.errors import LogError
    from swarm.text import shown

    found = log.rows("SELECT world, listed FROM rooms WHERE room = ?", [room])
    if not found:
        raise LogError(
            f"there is no room {room!r} in {log.path}; `python -m swarm show {log.path}` lists them"
        )
    world, listed = found[0]
    surrogates = log.value("SELECT surrogates FROM studies")
    style = click.style
    lines = [style(f"Room {room}", bold=True) + (", surrogate agents" if surrogates else "")]
    lines.append(f"Names as listed: {', '.join(listed)}")
    names = {}
    for seat, name, model in log.rows(
        "SELECT seat, name, model FROM seats WHERE room = ? ORDER BY seat", [room]
    ):
        names[seat] = name
        lines.append(f"  {name}: {model}{' (surrogate)' if model in surrogates else ''}")
    for alerting, root, cause in log.rows(
        "SELECT alerting, root, cause FROM outages WHERE world = ? ORDER BY outage", [world]
    ):
        lines.append(f"Truth: {alerting} fails because of {cause} on {root}")
    refusals = defaultdict(list)
    for round, seat, field, reason in log.rows(
        "SELECT round, seat, field, reason FROM refusals WHERE room = ?", [room]
    ):
        refusals[round, seat].append(f"{field} refused: {reason}")
    filings = {
        (round, seat): "correct" if correct else "wrong"
        for round, seat, correct in log.rows(
            "SELECT round, seat, correct FROM filings WHERE room = ?", [room]
        )
    }
    asked = defaultdict(list)
    for round, seat, mate, kind, target in log.rows(
        "SELECT d.round, d.seat, s.name, d.kind, d.target FROM directives d JOIN seats s "
        "ON s.room = d.room AND s.seat = d.teammate WHERE d.room = ? "
        "AND d.tagger = (SELECT min(tagger) FROM tagged) ORDER BY ALL",
        [room],
    ):
        asked[round, seat].append(f"{mate}: {kind} {target}")
    texts = _prompt_texts(log, room) if prompts else {}
    last = 0
    for round, seat, note, post, query, file in log.rows(
        "SELECT round, seat, note, post, query, file FROM turns WHERE room = ? "
        "ORDER BY round, position",
        [room],
    ):
        if round != last:
            lines += ["", style(f"Round {round}", bold=True)]
            last = round
        key = (round, seat)
        if prompts:
            lines += ["", *(f"    > {line}" for line in shown(texts[key]).split("\n"))]
        said = shown(post).replace("\n", "\n    ") if post else style("(no post)", dim=True)
        lines.append(f"  {style(names[seat], bold=True)}: {said}")
        if notes and note:
            lines.append(style("    note: " + shown(note).replace("\n", "\n    "), dim=True))
        if query:
            lines.append(f"    queries {query}")
        if file:
            lines.append(f"    files {file}: {filings.get(key, '?')}")
        if asked[key]:
            lines.append(style(f"    directives: {'; '.join(asked[key])}", fg="cyan"))
        lines += [style(f"    {shown(text)}", fg="yellow") for text in refusals[key]]
    lines += ["", *_ending(log, room)]
    return "\n".join(lines)


def _ending(log: Any, room: str) -> list[str]:
    lines = []
    for reason, fixed, filings, duplicates, seconds in log.rows(
        "SELECT reason, fixed, filings, duplicates, seconds FROM outcomes WHERE room = ?", [room]
    ):
        lines.append(
            f"Ended: {reason}; {fixed} outages fixed with {filings} filings, "
            f"{duplicates} duplicate queries, {seconds:.0f} s on the room's clock"
        )
    for rule, name, total, followers in log.rows(
        "SELECT rule, name, total, followers FROM leaders JOIN seats USING (room, seat) "
        "WHERE room = ? AND rule = 'published'",
        [room],
    ):
        lines.append(f"Leader ({rule} rule): {name}, weight {total:g} over {followers} followers")
    return lines or ["Not finished."]


def _prompt_texts(log: Any, room: str) -> dict[tuple[int, int], str]:
    """What each turn's model read, by (round, seat)."""
    from replays.decisions import settings_of

    turns = log.rows("SELECT room, round, seat FROM turns WHERE room = ?", [room])
    return {
        (round, seat): "\n\n".join(setting.prompt.texts)
        for (_, round, seat), setting in settings_of(log, turns)
    }
