"""How runs in parts are judged; that they run is a matter of tests/engine."""

from benchmarks.parts_equality import Compared

CASES = [
    ("cora", 1, 9e-5, 0.0, True),
    ("cora", 1, 2e-4, 0.0, False),
    ("cora", 20, 2e-4, 0.29, True),
    ("cora", 20, 2e-4, 0.31, False),
    ("town", 20, 2e-4, 0.29, False),
    ("facebook", 20, 2e-4, 0.09, True),
    ("facebook", 1, 1e-7, 0.2, False),
]


def test_scores_are_judged_after_few_epochs_and_accuracies_always():
    found = [Compared("veil", data, 2, epochs, *parted, 0.875) for data, epochs, *parted, _ in CASES]
    judged = [
        (data, epochs, *parted, one.met) for one, (data, epochs, *parted, _) in zip(found, CASES, strict=True)
    ]
    assert judged == CASES
    cells = [("veil", data, "2", str(epochs), "yes" if met else "NO") for data, epochs, *_, met in CASES]
    assert [(*one.cells()[:4], one.cells()[-1]) for one in found] == cells
