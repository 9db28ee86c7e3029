"""How runs in parts are judged; that they run is a matter of tests/engine."""

import pytest

from benchmarks.parts_equality import Compared


@pytest.mark.parametrize(
    ("data", "epochs", "difference", "points", "met"),
    [
        ("cora", 1, 9e-5, 0.0, True),
        ("cora", 1, 2e-4, 0.0, False),
        ("cora", 20, 2e-4, 0.29, True),
        ("cora", 20, 2e-4, 0.31, False),
        ("town", 20, 2e-4, 0.29, False),
        ("facebook", 20, 2e-4, 0.09, True),
        ("facebook", 1, 1e-7, 0.2, False),
    ],
)
def test_scores_are_judged_after_few_epochs_and_accuracies_always(data, epochs, difference, points, met):
    found = Compared("veil", data, 2, epochs, difference, points, 0.875)
    assert found.met is met
    assert found.cells()[-1] == ("yes" if met else "NO")
    assert found.cells()[:4] == ("veil", data, "2", str(epochs))
