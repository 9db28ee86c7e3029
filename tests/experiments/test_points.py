"""Numbers that a document's text has of a figure."""

import pytest

from graphveil.experiments.papers import PrintedPoint
from graphveil.experiments.study_result import StudyResult
from tests.experiments.known import axis, choices, result_of

SWEEP = 'title = "over budgets"\n[base]\ndata = "town"\nruns = 2\n' + axis("epsilon", [1, 4])
SWEEP += choices("way", {"plain": '{ method = "base" }', "hops": '{ method = "lpgnn" }'})


@pytest.fixture
def result(sweep):
    """Two runs of each method at ε = 4: 50 and 52 beside a control of 40, and 60 and 64 without a control."""
    study = sweep(SWEEP)
    scores = {(1, 0): {"method": (0.5, 0.52), "control": (0.4, 0.4)}, (1, 1): {"method": (0.6, 0.64)}}
    found = [
        result_of(cell.experiment, **scores[cell.place]) if cell.place in scores else None
        for cell in study.cells
    ]
    return StudyResult.of(study, found)


POINTS = [
    # The t quantile of one degree of freedom is 12.71: ± 12.71·1.
    (PrintedPoint((4, "plain"), "50"), ["ε = 4, plain", "50", "51.0 [38.3, 63.7]", "40.0 [40.0, 40.0]", "-"]),
    # Run by run: 10 and 12.
    (
        PrintedPoint((4, "hops"), "about 9", (4, "plain")),
        ["ε = 4, hops, over plain", "about 9", "11.0 [-1.7, 23.7]", "-", "-"],
    ),
    (PrintedPoint((1, "plain"), "40"), ["ε = 1, plain", "40", "-", "-", "-"]),
    (PrintedPoint((4, "plain"), "5", (1, "plain")), ["ε = 4, plain, over ε = 1", "5", "-", "-", "-"]),
]


def test_theirs_stands_beside_ours(result):
    assert [point.row(result) for point, _ in POINTS] == [row for _, row in POINTS]
