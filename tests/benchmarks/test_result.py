"""What is shown of a result, and when a target is met."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.result import Result, amount, proportion, table

RESULT = Result("draws", "coin", "words", "s", 0.02, 0.01, target=5.0, median=2.5)


def test_a_target_is_an_upper_bound() -> None:
    assert [replace(RESULT, target=target).met for target in (None, 1.9, 2.0)] == [None, False, True]


def test_fields_hold_the_ratio_and_the_verdict() -> None:
    fields = RESULT.fields()
    assert (fields["ratio"], fields["target"], fields["met"]) == (2.0, 5.0, True)


def test_an_amount_has_three_digits() -> None:
    shown = [amount(0.0123, "s"), amount(2.5, "s"), amount(1483.2, "MB"), amount(1, "bytes")]
    assert shown == ["12.3 ms", "2.5 s", "1480 MB", "1 bytes"]


def test_a_small_ratio_is_a_fraction() -> None:
    ratios = (4.2, 0.9, 0.25, 1 / 141)
    assert [proportion(ratio) for ratio in ratios] == ["4.20", "0.90", "1/4", "1/141"]


def test_the_table_has_a_line_a_result() -> None:
    lines = table([RESULT, replace(RESULT, target=1.0)]).splitlines()
    assert len(lines) == 4
    assert lines[2].split() == [
        "draws",
        "coin",
        "words",
        "20",
        "ms",
        "10",
        "ms",
        "2.00",
        "2.50",
        "≤",
        "5.00",
        "yes",
    ]
    assert lines[3].endswith("NO")
