"""The benchmark of what a worker takes."""

from types import SimpleNamespace

import pytest

from benchmarks import parts_memory
from benchmarks.parts_equality import Compared

LIBRARIES = 400.0


@pytest.fixture
def peaks(monkeypatch):
    """What each worker takes beyond libraries, by how many there are; nobody is started."""
    taken = {1: [1000.0], 2: [540.0, 520.0], 4: [250.0, 300.0, 260.0, 255.0]}

    def run(task, workers, crew):
        also = {}
        for rank, beyond in enumerate(taken[workers]):
            told = {
                "users": 100 // workers,
                "halo_rows": 7,
                "peak_mb": LIBRARIES + beyond,
                "beyond_mb": beyond,
            }
            also |= {f"worker_{rank}_{name}": float(value) for name, value in told.items()}
        return SimpleNamespace(also=also)

    monkeypatch.setattr(parts_memory, "run_shard_unit", run)
    return taken


def test_the_largest_peak_is_compared_with_that_of_one_worker(peaks, tmp_path):
    one, two, four = parts_memory.measure(tmp_path)
    assert [line.beyond for line in (one, two, four)] == [1000, 540, 300]
    assert [line.share for line in (one, two, four)] == [1, 0.54, 0.3]
    assert [line.met for line in (one, two, four)] == [True, True, False]
    assert two.peak == LIBRARIES + 540


def test_the_smallest_number_stands_for_one_worker(peaks, tmp_path):
    two, four = parts_memory.measure(tmp_path, (4, 2))
    assert two.share == 0.5
    assert four.share == 300 / (2 * 540)


def test_the_exit_status_says_whether_memory_falls(peaks, tmp_path, capsys):
    assert parts_memory.main([str(tmp_path), "--workers", "1", "2"]) == 0
    assert "0.540" in capsys.readouterr().out
    assert parts_memory.main([str(tmp_path)]) == 1
    assert "NO" in capsys.readouterr().out


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
