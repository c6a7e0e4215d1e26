"""``verify`` finds nothing in an honest log, and every single thing that was changed in another."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from kill_live import run, write_study
from serving import serving

from swarm.__main__ import main
from swarm.log.store import Log
from swarm.log.writer import Writer
from swarm.models.base import Model, Reply
from swarm.prompt import Prompt
from swarm.room import play_room
from swarm.study import Study
from swarm.verify import verify


class Clumsy:
    """A surrogate that now and then says nothing readable, or asks for what there is not."""

    surrogate = True

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self._model = model

    async def reply(self, prompt: Prompt, seed: int) -> Reply:
        reply = await self._model.reply(prompt, seed)
        slips = {0: "no", 1: '{"note": "", "post": "on it", "query": "the moon", "file": "D-1"}'}
        return replace(reply, text=slips.get(seed % 8, reply.text))


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed log of eight played rooms; copy it, never open it."""
    path = tmp_path_factory.mktemp("honest") / "log.duckdb"
    study = Study(rooms=8, seed=5)
    game = study.game
    models = {name: Clumsy(game.surrogate(name)) for name in game.surrogates()}
    with Log.open_or_create(path, study) as log:
        with Writer(log) as writer:
            for spec in study.specs():
                asyncio.run(play_room(game, spec, models, sink=writer.put_rows))
        assert log.value("SELECT count(*) FROM refusals") > 0
        assert log.value("SELECT count(*) FROM discarded") > 0
    return path


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same of a live model that cuts replies off, is refused now and then, and is retried."""
    folder = tmp_path_factory.mktemp("live")
    with serving() as server:
        server.reset(
            sticky={"finish_reason length": 0.3, "wrong schema": 0.1, "fenced JSON": 0.1},
            faults={"400": 0.1, "500": 0.05},
        )
        study = write_study(folder / "study.toml", server.base, 4, 3, 8)
        run(study, folder / "log.duckdb")
    return folder / "log.duckdb"


def test_an_honest_log_follows_from_its_replies(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(honest, tmp_path / "log.duckdb"))
    assert main(["verify", str(path)]) == 0
    assert "8 rooms follow from their replies" in capsys.readouterr().out


def test_so_does_a_live_one_with_calls_that_were_given_up(live: Path) -> None:
    with Log.open(live) as log:
        given_up = log.rows("SELECT attempts FROM turns WHERE failed = 'refused'")
        assert given_up
        assert (1,) in given_up  # it was not asked again, and playing it again must know that
        assert log.value("SELECT count(*) FROM turns WHERE failed LIKE 'cut off%'") > 0
        assert list(verify(log)) == []


TAMPERED = {
    "note": "UPDATE turns SET note = note || '!' WHERE rowid = 3",
    "post": "UPDATE turns SET post = post || '!' "
    "WHERE rowid = (SELECT min(rowid) FROM turns WHERE post <> '')",
    "reply": 'UPDATE turns SET reply = \'{"note": "", "post": "other"}\' WHERE rowid = 5',
    "status": "UPDATE turns SET status = 'repaired' WHERE rowid = 6",
    "query": "UPDATE turns SET query = 'checkout' "
    "WHERE rowid = (SELECT min(rowid) FROM turns WHERE query IS NULL)",
    "prompt shorter": "UPDATE prompts SET turn = turn[2:] WHERE rowid = 4",
    "prompt in another order": "UPDATE prompts SET turn = list_reverse(turn) WHERE rowid = 9",
    "system prompt": "UPDATE prompts SET system = turn WHERE rowid = 4",
    "prompt deleted": "DELETE FROM prompts WHERE rowid = 4",
    "block text": "UPDATE blocks SET text = text || '!' "
    "WHERE block = (SELECT turn[1] FROM prompts LIMIT 1)",
    "block kind": "UPDATE blocks SET kind = 'other' "
    "WHERE block = (SELECT system[1] FROM prompts LIMIT 1)",
    "block deleted": "DELETE FROM blocks WHERE block = (SELECT turn[1] FROM prompts LIMIT 1)",
    "refusal deleted": "DELETE FROM refusals WHERE rowid = 0",
    "refusal's reason": "UPDATE refusals SET reason = 'no' WHERE rowid = 0",
    "card": "UPDATE cards SET kind = CASE kind WHEN 'clean' THEN 'root' ELSE 'clean' END "
    "WHERE rowid = 1",
    "filing flipped": "UPDATE filings SET correct = NOT correct WHERE rowid = 0",
    "filing deleted": "DELETE FROM filings WHERE rowid = 0",
    "filing added": "INSERT INTO filings SELECT * FROM filings LIMIT 1",
    "turn deleted": "DELETE FROM turns WHERE rowid = 20",
    "last turn deleted": "DELETE FROM turns WHERE rowid = (SELECT max(rowid) FROM turns)",
    "turn added": "INSERT INTO turns SELECT * FROM turns LIMIT 1",
    "discarded attempt": "UPDATE discarded SET attempt = 5 WHERE rowid = 0",
    "discarded deleted": "DELETE FROM discarded WHERE rowid = 0",
    "outcome": "UPDATE outcomes SET fixed = fixed + 1 WHERE rowid = 2",
    "outcome's reason": "UPDATE outcomes SET reason = 'luck' WHERE rowid = 2",
    "time": "UPDATE turns SET finished = finished + 1 WHERE rowid = 7",
    "room of another study": "INSERT INTO turns SELECT 'w999_r0', * EXCLUDE (room) "
    "FROM turns WHERE room = 'w000_r0'",
}


@pytest.mark.parametrize("what", TAMPERED)
def test_every_single_change_is_found(honest: Path, tmp_path: Path, what: str) -> None:
    path = Path(shutil.copy(honest, tmp_path / "log.duckdb"))
    with Log.open(path) as log:
        [(changed,)] = log.rows(TAMPERED[what])
        assert changed >= 1
        assert list(verify(log)) != []


@pytest.mark.parametrize(
    "tables", [("rooms", "outcomes", "turns"), ("outcomes",), ("filings",), ("rooms",)]
)
def test_a_room_that_the_study_has_not_is_found(
    honest: Path, tmp_path: Path, tables: tuple[str, ...]
) -> None:
    path = Path(shutil.copy(honest, tmp_path / "log.duckdb"))
    with Log.open(path) as log:
        for table in tables:
            log.rows(
                f"INSERT INTO {table} SELECT 'w999_r0', * EXCLUDE (room) FROM {table} "
                f"WHERE room = (SELECT min(room) FROM {table})"
            )
        assert list(verify(log)) != []


def test_the_command_names_the_room_and_the_table_and_fails(
    honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = Path(shutil.copy(honest, tmp_path / "log.duckdb"))
    with Log.open(path) as log:
        log.rows("UPDATE outcomes SET fixed = fixed + 1 WHERE room = 'w000_r3'")
    assert main(["verify", str(path)]) == 1
    output = capsys.readouterr()
    assert output.out.startswith("w000_r3: outcomes differs")
    assert output.err == f"swarm: {path}: 1 differences in 8 rooms\n"
