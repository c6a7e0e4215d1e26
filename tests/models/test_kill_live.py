"""A live run that is killed again and again pays at most for what was under way, and ends the same.

What the server says it answered decides, not our own log.
"""

from __future__ import annotations

import pytest
from kill_live import Killed, kill_live
from serving import Server

KILLS, ROOMS = 5, 4


@pytest.fixture(scope="module")
def killed(server_process: Server, tmp_path_factory: pytest.TempPathFactory) -> Killed:
    folder = tmp_path_factory.mktemp("killed")
    return kill_live(server_process, folder, KILLS, ROOMS, rounds=4, concurrency=8)


def test_the_kills_struck_while_calls_were_made(killed: Killed) -> None:
    assert len(killed.stages) == KILLS
    assert killed.stages.count("play") >= 3


def test_only_what_was_under_way_is_paid_for_again(killed: Killed) -> None:
    assert killed.calls > 100
    assert killed.twice <= killed.bound


def test_the_rooms_are_those_of_an_undisturbed_run(killed: Killed) -> None:
    assert killed.differing == []


def test_the_log_follows_from_its_replies(killed: Killed) -> None:
    assert killed.found_by_verify == 0
