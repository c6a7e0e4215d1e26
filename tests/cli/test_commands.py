"""The command line as scripts rely on it: names, exit codes, one clear line for a fault."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from swarm.__main__ import main

COMMANDS = (
    "run", "tag", "replay", "attribute", "report", "show", "verify", "costs", "serve", "local-model"
)  # fmt: skip
PYTHON = [sys.executable, "-m", "swarm"]


def fault(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The single line that a command ends with; its exit code must be 2."""
    assert main(list(arguments)) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture
def log_path(tmp_path: Path) -> Path:
    path = tmp_path / "rooms.duckdb"
    assert main(["run", "--rooms", "8", "--seed", "4", "--jobs", "1", "--out", str(path)]) == 0
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_shows_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "--help"]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 25
    assert max(map(len, text.splitlines())) <= 80
    assert "Example: python -m swarm " + command in text


def test_first_help_names_every_command_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from swarm.__main__ import main; main(['--help']); "
        "print(sorted({'litellm', 'pandas', 'sklearn', 'duckdb', 'simpy', 'numpy'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert all(command in done.stdout for command in COMMANDS)


def test_importing_swarm_imports_no_litellm() -> None:
    code = "import swarm, sys; swarm.Study; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_run_prints_the_report_and_attribute_the_contract(
    capsys: pytest.CaptureFixture[str], log_path: Path
) -> None:
    assert "surrogate agents" in capsys.readouterr().out
    assert "surrogate agents" in log_path.with_name("report.md").read_text()
    assert main(["attribute", str(log_path), "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["rooms"] == 8
    assert {
        "rooms", "plan_rooms", "multi_plan_rooms", "leaders", "mirror_leaders", "leaders_round1",
        "leaders_later", "leaders_by_model", "followers", "followed", "positive_weights",
        "negative_weights", "mean_a", "mean_b", "duplicates_per_room", "solved_rooms",
    } <= set(counts)  # fmt: skip


def test_the_same_command_again_changes_nothing_and_asks_nobody(
    log_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _counts(log_path)
    monkeypatch.setattr("scenarios.outage.surrogate.Surrogate.reply", None)
    assert main(["run", "--rooms", "8", "--seed", "4", "--jobs", "1", "--out", str(log_path)]) == 0
    assert _counts(log_path) == before


def _counts(path: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(path), read_only=True) as con:
        tables = [t for (t,) in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        return [con.execute(f"SELECT '{t}', count(*) FROM {t}").fetchone() or () for t in tables]


def test_every_option_is_an_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "named.duckdb"
    for name, value in {
        "ROOMS": "3",
        "SEED": "9",
        "OUT": str(path),
        "JOBS": "1",
        "NAME_ORDER": "reversed",
        "NO_CHANNEL": "1",
        "MODELS": "kimi-k3",
        "MODEL": "gpt-6.1-sol=Ada",
    }.items():
        monkeypatch.setenv(f"SWARM_{name}", value)
    assert main(["run"]) == 0
    with duckdb.connect(str(path), read_only=True) as con:
        (settings,) = con.execute("SELECT settings FROM studies").fetchone() or ("",)
    study = json.loads(settings)
    assert (study["rooms"], study["seed"], study["name_order"]) == (3, 9, "reversed")
    assert study["room"]["channel"] is False
    assert study["lineup"] == ["kimi-k3"]
    assert study["seats"] == {"Ada": "gpt-6.1-sol"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rooms", "0"], "rooms = 0"),
        (["--rooms", "-3"], "rooms = -3"),
        (["--seed", "-1"], "seed = -1"),
        (["--name-order", "sideways"], "name_order"),
        (["--models", "gpt-nobody-knows"], "unknown model 'gpt-nobody-knows'"),
        (["--models", "kimi-k3,kimi-k3,gpt-6.1-sol"], "cannot be shared evenly by 3"),
        (["--model", "kimi-k3=Zoe"], "no agent is called 'Zoe'"),
        (["--tagger", "psychic"], "unknown tagger 'psychic'"),
        (["--schedule", "weekly"], "unknown schedule 'weekly'"),
        (["--study", "/nowhere/study.toml"], "/nowhere/study.toml"),
        (["--out", "/nowhere/rooms.duckdb"], "/nowhere"),
        (["--out", "/proc/rooms.duckdb"], "cannot write /proc/rooms.duckdb"),
    ],
)
def test_bad_use_is_one_line_and_exit_code_2(
    arguments: list[str],
    says: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert says in fault(capsys, "run", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_option_is_bad_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--room", "4"]) == 2
    assert "--rooms" in capsys.readouterr().err


def test_other_settings_on_a_log_are_refused_and_named(
    log_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = log_path.read_bytes()
    line = fault(capsys, "run", "--rooms", "16", "--seed", "5", "--out", str(log_path))
    assert "rooms is 8 there, 16 here" in line
    assert "seed is 4 there, 5 here" in line
    assert log_path.read_bytes() == before


@pytest.mark.parametrize(
    "command", ["tag", "replay", "attribute", "report", "show", "verify", "costs"]
)
def test_a_missing_or_foreign_file_is_one_line(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, text, foreign = tmp_path / "a.duckdb", tmp_path / "b.duckdb", tmp_path / "c.duckdb"
    text.write_text("not a database, just a letter\n" * 200)
    with duckdb.connect(str(foreign)) as con:
        con.execute("CREATE TABLE mine (x INTEGER)")
    before = text.read_bytes(), foreign.read_bytes()
    assert "there is no log" in fault(capsys, command, str(missing))
    assert "not a DuckDB file" in fault(capsys, command, str(text))
    assert "not a log of swarm's" in fault(capsys, command, str(foreign))
    assert (text.read_bytes(), foreign.read_bytes()) == before
    assert not missing.exists()


def test_show_prints_a_room_and_escapes_what_agents_wrote(
    log_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with duckdb.connect(str(log_path)) as con:
        con.execute(
            "UPDATE turns SET post = 'hi \x1b[2J\u202ethere' "
            "WHERE room = 'w000_r0' AND round = 1 AND position = 0"
        )
    capsys.readouterr()
    assert main(["show", str(log_path), "w000_r0", "--notes", "--prompts"]) == 0
    text = capsys.readouterr().out
    assert "surrogate agents" in text
    assert "Round 2" in text
    assert "\\u001b[2J\\u202ethere" in text
    assert "\x1b[2J" not in text
    assert "All 8 of you have the same authority." in text
    assert "there is no room 'w9'" in fault(capsys, "show", str(log_path), "w9")


def test_a_stage_that_lacks_another_names_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from swarm.log.store import Log
    from swarm.pool import Workers
    from swarm.runner import play_study
    from swarm.study import Study

    path = tmp_path / "played.duckdb"
    with Log.open_or_create(path, Study(rooms=8)) as log:
        pass
    assert "`python -m swarm run`" in fault(capsys, "report", str(path))
    with Log.open(path) as log:
        play_study(log, Workers(1))
    assert f"`python -m swarm tag {path}" in fault(capsys, "replay", str(path))
    assert main(["tag", str(path), "--jobs", "1"]) == 0
    assert f"`python -m swarm replay {path}" in fault(capsys, "attribute", str(path))


def test_ctrl_c_ends_with_130_keeps_the_log_and_says_how_to_go_on(tmp_path: Path) -> None:
    path = tmp_path / "cut.duckdb"
    command = [*PYTHON, "run", "--rooms", "2000", "--out", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 60
    wal = path.with_name(path.name + ".wal")
    while not (wal.exists() and wal.stat().st_size > 100_000):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.strip().splitlines()[-1].startswith("swarm: interrupted")
    assert "Traceback" not in errors
    with duckdb.connect(str(path), read_only=True) as con:
        (rooms,) = con.execute("SELECT count(*) FROM outcomes").fetchone() or (0,)
    assert 0 < rooms < 2000
