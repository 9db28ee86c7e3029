"""The benchmark of what a worker takes."""

from types import SimpleNamespace

import pytest

from benchmarks import parts_memory

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
