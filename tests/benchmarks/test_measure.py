"""Time is taken in turn, memory is counted as numpy allocates it."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.measure import Timings, interleaved, peak_megabytes


def test_calls_take_turns_after_a_first_round() -> None:
    order: list[str] = []
    timings = interleaved({"one": lambda: order.append("one"), "two": lambda: order.append("two")}, 2)
    assert order == ["one", "two"] * 3
    assert {name: len(taken) for name, taken in timings.seconds.items()} == {"one": 2, "two": 2}


def test_best_is_the_fastest_repetition() -> None:
    assert Timings({"one": (3.0, 1.0, 2.0)}).best("one") == 1.0


def test_the_median_ratio_is_taken_side_by_side() -> None:
    timings = Timings({"ours": (1.0, 8.0, 6.0), "theirs": (1.0, 2.0, 3.0)})
    assert timings.median_ratio("ours", "theirs") == 2.0


def test_the_peak_counts_what_is_freed_before_the_end() -> None:
    def two_then_one() -> np.ndarray:
        return np.ones(1_000_000) + np.ones(1_000_000)

    # Three arrays of 8 MB at the most; numpy may add in place and keep two.
    assert 15.9 < peak_megabytes(two_then_one) < 24.1


def test_the_peak_does_not_count_what_was_there_before() -> None:
    before = np.ones(1_000_000)
    assert peak_megabytes(lambda: before[:10].copy()) == pytest.approx(0, abs=0.1)
