"""Rooms in a storm: they all end, and the log knows everything that happened to them."""

from __future__ import annotations

from collections import Counter

import pytest
from fault_server import KINDS
from serving import Server
from storm import ATTEMPTS, CLASS, STOPPING, TIMEOUT, Storm, faults, storm

from swarm.models.faults import Fault

ROOMS, ROUNDS = 24, 3


@pytest.fixture(scope="module")
def found(server_process: Server, tmp_path_factory: pytest.TempPathFactory) -> Storm:
    return storm(server_process, tmp_path_factory.mktemp("storm") / "log.duckdb", ROOMS, ROUNDS)


def test_three_in_ten_calls_go_wrong_in_every_way() -> None:
    assert sum(faults().values()) == pytest.approx(0.3)
    assert faults().keys() == {*KINDS}


def test_all_rooms_end(found: Storm) -> None:
    assert found.ended == ROOMS
    assert len(found.stops) <= sum(found.kinds.get(kind, 0) for kind in STOPPING)
    assert {*KINDS} - {*STOPPING} <= found.kinds.keys()


def test_every_fault_that_the_server_made_is_in_the_log_with_its_class(found: Storm) -> None:
    assert found.unexplained == []
    # Only what was under way when a run stopped, or came too late, is counted otherwise.
    assert found.under_way <= found.cut_off
    assert found.cut_off == 0 or found.stops
    made: Counter[str] = Counter()
    for kind, count in found.kinds.items():
        if kind in CLASS:
            made[CLASS[kind]] += count
    late = found.timed_out + found.unseen + found.under_way
    for fault in {*made, *found.classes}:
        assert abs(made[fault] - found.classes.get(fault, 0)) <= late, fault


def test_no_valid_reply_is_lost(found: Storm) -> None:
    assert found.delivered > ROOMS * ROUNDS * 7
    assert 0 <= found.delivered - found.logged - found.timed_out <= found.under_way
    assert found.unused == 0


def test_no_call_is_tried_without_end(found: Storm) -> None:
    assert 1 < found.most_tries <= ATTEMPTS
    assert found.most_refusals <= 10 * ATTEMPTS


def test_no_try_is_older_than_its_limit(found: Storm) -> None:
    assert found.classes[Fault.TIMEOUT] > 0
    assert TIMEOUT <= found.oldest < TIMEOUT + 1.5
