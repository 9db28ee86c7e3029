"""What is shown of a result, and when a target is met."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.result import Result, amount, proportion, table

RESULT = Result("draws", "coin", "words", "s", 0.02, 0.01, target=5.0, median=2.5)


@pytest.mark.parametrize(("target", "met"), [(None, None), (1.9, False), (2.0, True)])
def test_a_target_is_an_upper_bound(target: float | None, met: bool | None) -> None:
    assert replace(RESULT, target=target).met is met


def test_fields_hold_the_ratio_and_the_verdict() -> None:
    fields = RESULT.fields()
    assert (fields["ratio"], fields["target"], fields["met"]) == (2.0, 5.0, True)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [(0.0123, "s", "12.3 ms"), (2.5, "s", "2.5 s"), (1483.2, "MB", "1480 MB"), (1, "bytes", "1 bytes")],
)
def test_an_amount_has_three_digits(value: float, unit: str, shown: str) -> None:
    assert amount(value, unit) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"), [(4.2, "4.20"), (0.9, "0.90"), (0.25, "1/4"), (1 / 141, "1/141")]
)
def test_a_small_ratio_is_a_fraction(ratio: float, shown: str) -> None:
    assert proportion(ratio) == shown


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
