"""What is refused before workers are started, or before they read anything."""

import pytest

from graphveil.errors import InputError
from graphveil.scale.partition_learning import loaded
from graphveil.scale.workers import LIBRARIES, ProcessWorkers, check_room


def test_workers_need_room_for_libraries():
    check_room(4, 4 * LIBRARIES, "this machine")
    # One is always started: whatever it takes, there is no other way.
    check_room(1, 0.0, "this machine")
    with pytest.raises(
        InputError, match="5 workers take 1.0 GB(.|\n)*this machine has 0.8 GB: give at most workers 4"
    ):
        check_room(5, 4 * LIBRARIES, "this machine")


def test_more_workers_than_a_machine_holds_are_not_started():
    with pytest.raises(InputError, match="1000000 workers take 200000.0 GB for libraries alone"):
        ProcessWorkers().run(lambda *_: pytest.fail("started"), [None] * 1_000_000, None)


def test_libraries_alone_may_be_too_much():
    with pytest.raises(
        InputError, match=r"libraries alone take \d\.\d\d GB(.|\n)*above the 0\.01 GB that max_memory allows"
    ):
        loaded(lambda: None, 0.01)
    assert loaded(lambda: None, 1000.0) > 10
