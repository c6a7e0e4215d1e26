"""A study that cannot be run is refused in one line that names the file, the key and the mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from swarm.errors import StudyError, UsageError
from swarm.study import Study, load_study, make_study

NINE = '["A", "B", "C", "D", "E", "F", "G", "H", "I"]'

BAD = {
    "roms = 3": ("'roms'", "did you mean 'rooms'?"),
    "name-order = 'forward'": ("'name-order'", "did you mean 'name_order'?"),
    "xyzzy = 1": ("'xyzzy'", "known keys: scenario, rooms, seed"),
    '"a\\nb" = 1': ("unknown key 'a\\nb'",),
    "[room]\nrond = 3": ("'room.rond'", "did you mean 'rounds'?"),
    "[room]\nagent = 3": ("'room.agent'", "did you mean 'agents'?"),
    f"[room]\nnames = {NINE}": ("room", "9 names for 8 agents"),
    '[room]\nservices = ["a", "b", "c"]': ("room", "3 services for 4 outages", "at least 8"),
    "[room]\nchanges = 3": ("room", "changes = 3", "at least 12"),
    "[room]\nrounds = 0": ("room.rounds = 0", "greater than or equal to 1"),
    "[room]\nchannel = 'perhaps'": ("room.channel = 'perhaps'", "boolean"),
    '[room]\nnames = ["A", "A", "C", "D", "E", "F", "G", "H"]': ("'a' is used twice",),
    '[room]\nservices = "cart"': ("room.services = 'cart'",),
    '[room]\nnames = ["A:", "B", "C", "D", "E", "F", "G", "H"]': ("room.names.0 = 'A:'",),
    "rooms = 0": ("rooms = 0", "greater than or equal to 1"),
    "rooms = -5": ("rooms = -5",),
    "rooms = 2.5": ("rooms = 2.5", "integer"),
    "rooms = nan": ("rooms = nan",),
    "rooms = 'many'": ("rooms = 'many'", "integer"),
    "rooms = []": ("rooms = []",),
    "rooms = '" + "x" * 5000 + "'": ("rooms = 'xxx", "xxx...: "),
    "rooms = 99999999999999999999": ("rooms = 99999999999999999999",),
    "seed = -1": ("seed = -1",),
    "retries = 11": ("retries = 11",),
    "name_order = 'backwards'": ("name_order = 'backwards'", "'reversed'"),
    "scenario = 'chess'": ("unknown scenario 'chess'", "outage"),
    "models = 'gpt'": ("models = 'gpt'",),
    "models = ['a', 'b', 'c']": ("8 agents", "3 models"),
    "models = ['a', ' ']": ("name is empty",),
    "models = [1]": (".0 = 1", "string"),
    "seats = {Zoe = 'm'}": ("seats", "'Zoe'", "Ada"),
    "seats = {Ada = ''}": ("name is empty",),
    "seats = {Ada = 3}": ("seats.Ada = 3",),
    "room = 3": ("room = 3",),
    "rooms = ": ("not TOML",),
    "hello": ("not TOML",),
    "rooms = 1\nrooms = 2": ("not TOML",),
    "seed = " + "9" * 5000: ("not TOML",),
    "seed = " + "[" * 5000: ("not TOML",),
    "name_order = 'williams'\nmodels = ['m']\n[room]\nagents = 3\nnames = ['A', 'B', 'C']": (
        "even number of agents, not 3",
    ),
}


@pytest.mark.parametrize(("toml", "said"), BAD.items(), ids=[key[:30] for key in BAD])
def test_a_bad_study_file_is_refused_in_one_line(
    toml: str, said: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(toml, encoding="utf-8")
    with pytest.raises(StudyError) as fault:
        load_study(path, {})
    line = str(fault.value)
    assert len(line.splitlines()) == 1
    assert len(line) < 500
    for part in (str(path), *said):
        assert part in line


@pytest.mark.parametrize(
    ("content", "said"), [(b"\xff\xfe\x00", "not TOML"), (None, "No such file")]
)
def test_a_file_that_cannot_be_read_is_named(
    content: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StudyError, match=said) as fault:
        load_study(path, {})
    assert str(path) in str(fault.value)


def test_a_folder_is_no_study(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=f"cannot read study {tmp_path}"):
        load_study(tmp_path, {})


def test_a_fault_of_the_command_line_is_not_blamed_on_a_file() -> None:
    with pytest.raises(StudyError, match=r"^study: rooms = 0: "):
        load_study(None, {"rooms": 0})


def test_a_study_error_is_a_usage_error() -> None:
    assert issubclass(StudyError, UsageError)


def test_every_key_has_a_default() -> None:
    study = load_study(None, {})
    assert (study.rooms, study.seed, study.name_order) == (2160, 1, "forward")
    assert len(study.all_models) == 4
    assert study == Study()


def test_an_empty_file_is_the_default_study(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text("", encoding="utf-8")
    assert load_study(tmp_path / "s.toml", {}) == Study()


def test_overrides_win_over_the_file_and_none_means_not_given(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text("rooms = 3\nseed = 9\n[room]\nrounds = 5\n[seats]\nBo = 'x'", encoding="utf-8")
    overrides: dict[str, Any] = {
        "rooms": 4,
        "seed": None,
        "room": {"channel": False},
        "seats": {"Ada": "y"},
    }
    study = load_study(path, overrides)
    assert (study.rooms, study.seed) == (4, 9)
    assert study.room == {"rounds": 5, "channel": False}
    assert study.seats == {"Bo": "x", "Ada": "y"}


def test_as_json_holds_all_that_decides_the_rooms() -> None:
    whole = json.loads(Study(rooms=3).as_json())
    assert whole["rooms"] == 3
    assert whole["room"]["rounds"] == 8
    assert make_study(whole).as_json() == Study(rooms=3).as_json()


def test_what_a_default_spells_out_is_the_same_study() -> None:
    spelled = Study(models=Study().all_models, room={"rounds": 8})
    assert spelled.as_json() == Study().as_json()
    assert Study(room={"rounds": 7}).as_json() != Study().as_json()


def test_equal_studies_have_equal_rooms() -> None:
    assert list(Study(rooms=20, seed=3).specs()) == list(Study(rooms=20, seed=3).specs())
    assert len(list(Study(rooms=20).specs())) == 20


def test_held_seats_hold_their_model_in_every_room() -> None:
    study = Study(rooms=16, seats={"Cy": "openai/x"})
    assert {spec.models[spec.names.index("Cy")] for spec in study.specs()} == {"openai/x"}
    assert study.all_models[-1] == "openai/x"


def test_a_study_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Study().rooms = 3  # type: ignore[misc]
