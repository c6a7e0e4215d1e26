"""A room and a replay by a real model, through litellm, from the study file to the report."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from swarm.__main__ import main
from swarm.study import load_study

# A small room, in which a query is open in both rounds and the schema lets the model make no other
# than a legal one, so that there are decisions.
STUDY = """
rooms = 1
seed = 2

[room]
agents = 3
names = ["Ada", "Bo", "Cy"]
services = ["cart", "payments", "search"]
outages = 1
changes = 3
filings = 1
rounds = 2
queries = 2
query_round = 1

[models.small]
model = "openai/{name}"
path = "litellm"
api_base = "{url}"
price = {{ input = 0.0, output = 0.0 }}
timeout = 300
schema = "off"

[models.small.parameters]
max_tokens = 200

[models.small.parameters.json_schema]
type = "object"
required = ["note", "post", "query", "file"]
additionalProperties = false

[models.small.parameters.json_schema.properties]
note = {{ type = "string", minLength = 10, maxLength = 80 }}
post = {{ type = "string", pattern = "^[A-Z][a-z ,.]{{10,80}}$" }}
query = {{ enum = ["cart", "payments", "search"] }}
file = {{ enum = [""] }}
"""


def test_a_real_model_plays_a_room_and_a_replay(
    endpoint: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study, path = tmp_path / "study.toml", tmp_path / "room.duckdb"
    study.write_text(STUDY.format(name=name, url=endpoint))
    assert main(["run", "--study", str(study), "--out", str(path), "--jobs", "1"]) == 0

    with duckdb.connect(str(path)) as con:
        turns = con.execute("SELECT status, failed, post, query, tokens_in, served_by FROM turns")
        rows = turns.fetchall()
        assert len(rows) == 6
        assert {(status, failed) for status, failed, *_ in rows} == {("ok", None)}
        assert all(
            len(post) >= 10 and query and tokens > 0 for _, _, post, query, tokens, _ in rows
        )
        assert {served for *_, served in rows} == {name}
        sent = con.execute("SELECT DISTINCT sent FROM calls").fetchall()
        assert all("json_schema" in json.loads(parameters) for (parameters,) in sent)
        # So small a model asks nobody by name. Say that Ada's first post asked Bo for what he did.
        con.execute(
            "INSERT INTO directives SELECT 'learned', room, 1, 0, 1, 'query', query, NULL "
            "FROM turns WHERE round = 2 AND seat = 1"
        )
        con.execute("DELETE FROM influences")

    assert main(["replay", str(path), "--jobs", "1"]) == 0
    assert main(["attribute", str(path)]) == 0
    assert main(["report", str(path)]) == 0
    assert "small" in capsys.readouterr().out
    with duckdb.connect(str(path), read_only=True) as con:
        replays = con.execute("SELECT removed = 0, status, query, tokens_in FROM replays")
        rows = replays.fetchall()
        with_post = [tokens for whole, _, _, tokens in rows if whole]
        without = [tokens for whole, _, _, tokens in rows if not whole]
        assert (len(with_post), len(without)) == (2, 2)
        assert max(without) < min(with_post), "the post is gone from the prompt"
        assert all(status == "ok" and query for _, status, query, _ in rows)


def test_the_study_of_a_local_model_is_one_that_can_be_run() -> None:
    study = load_study(Path(__file__).parents[2] / "studies" / "local.toml", {})
    assert study.all_models == ("qwen-0.5b",)
    assert len(list(study.specs())) == 4
