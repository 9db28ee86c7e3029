"""Benchmarks that measure in processes of their own, which start and say what they took."""

from __future__ import annotations

from benchmarks import propagation, whole
from benchmarks.result import Sizes

TINY = Sizes(draws=1000, users=40, dimensions=30, repetitions=1, epochs=2)


def test_both_sides_of_a_whole_run_are_measured_in_processes_of_their_own() -> None:
    results = whole.run(TINY)
    assert [result.unit for result in results] == ["s", "MB", "% wrong"]
    assert all(result.ours > 0 and result.theirs > 0 for result in results if result.unit != "MB")


def test_the_memory_of_propagation_is_that_of_a_process_of_its_own() -> None:
    for way in ("whole", "blocks"):
        assert propagation._measured(way, TINY) >= 0
