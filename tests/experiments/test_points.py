"""Numbers that a document's text has of a figure."""

import pytest

from graphveil.experiments.papers import PrintedPoint
from graphveil.experiments.result import Result
from graphveil.experiments.study import read_sweep
from graphveil.experiments.study_result import StudyResult
from graphveil.experiments.unit import UnitResult
from graphveil.privacy.record import Privacy

SWEEP = """
title = "over budgets"
[base]
data = "town"
runs = 2
[[axes]]
field = "epsilon"
values = [1, 4]
[[axes]]
label = "way"
[[axes.choices]]
label = "plain"
set = { method = "base" }
[[axes.choices]]
label = "hops"
set = { method = "lpgnn" }
"""
SECONDS = {"report": 0.0, "denoise": 0.0, "train": 0.0, "total": 0.0}


@pytest.fixture
def result(tmp_path):
    """Two runs of each method at ε = 4: 50 and 52 beside a control of 40, and 60 and 64 without a control."""
    (tmp_path / "own.toml").write_text(SWEEP)
    sweep = read_sweep(tmp_path / "own.toml")
    scores = {(1, 0): {"method": (0.5, 0.52), "control": (0.4, 0.4)}, (1, 1): {"method": (0.6, 0.64)}}
    results = []
    for cell in sweep.cells:
        units = tuple(
            UnitResult(part, run, score, "", Privacy(), SECONDS, 1.0)
            for part, each in scores.get(cell.place, {}).items()
            for run, score in enumerate(each)
        )
        results.append(Result.from_units(cell.experiment, units) if units else None)
    return StudyResult.of(sweep, results)


@pytest.mark.parametrize(
    ("point", "row"),
    [
        # The t quantile of one degree of freedom is 12.71: ± 12.71·1.
        (
            PrintedPoint((4, "plain"), "50"),
            ["ε = 4, plain", "50", "51.0 [38.3, 63.7]", "40.0 [40.0, 40.0]", "-"],
        ),
        # Run by run: 10 and 12.
        (
            PrintedPoint((4, "hops"), "about 9", (4, "plain")),
            ["ε = 4, hops, over plain", "about 9", "11.0 [-1.7, 23.7]", "-", "-"],
        ),
        (PrintedPoint((1, "plain"), "40"), ["ε = 1, plain", "40", "-", "-", "-"]),
        (PrintedPoint((4, "plain"), "5", (1, "plain")), ["ε = 4, plain, over ε = 1", "5", "-", "-", "-"]),
    ],
)
def test_theirs_stands_beside_ours(point, row, result):
    assert point.row(result) == row
