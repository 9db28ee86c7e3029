"""Private rows for the benchmarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.rows import ONES_A_ROW, generated_rows, sparse_rows


def test_generated_rows_hold_the_same_number_of_ones_each() -> None:
    rows = generated_rows(30, 50)
    assert rows.shape == (30, 50)
    assert rows.has_canonical_format
    assert (rows.toarray().sum(axis=1) == ONES_A_ROW).all()
    assert set(np.unique(rows.toarray())) == {0.0, 1.0}


def test_stored_rows_are_taken_where_they_have_the_shape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = {"x_indptr": [0, 1, 1], "x_indices": [2], "x_data": [1.0], "x_shape": [2, 3]}
    np.savez(tmp_path / "facebook.npz", **{key: np.array(value) for key, value in stored.items()})
    monkeypatch.setenv("GRAPHVEIL_DATA", str(tmp_path))
    source, rows = sparse_rows(2, 3)
    assert (source, rows.toarray().tolist()) == ("facebook", [[0, 0, 1], [0, 0, 0]])
    assert sparse_rows(3, 20)[0] == "generated"


def test_without_stored_rows_they_are_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRAPHVEIL_DATA", raising=False)
    assert sparse_rows(4, 20)[0] == "generated"
