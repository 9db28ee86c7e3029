"""Workers learn what one process learns: five methods, three graphs, 1, 2 and 4 workers, after 1 and 20 epochs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.parts_equality import GRAPHS, METHODS, WORKERS, compare


def is_there(data):
    folder = os.environ.get("GRAPHVEIL_DATA", "")
    return data == "town" or bool(folder and (Path(folder) / f"{data}.npz").exists())


@pytest.mark.parametrize("data", GRAPHS)
def test_workers_learn_what_one_process_learns(data, shows):
    if not is_there(data):
        pytest.skip(f"{data}.npz is not in $GRAPHVEIL_DATA")
    found = list(compare(graphs=(data,)))
    assert len(found) == len(METHODS) * len(WORKERS) * 2
    apart = [" ".join(each.cells()) for each in found if not each.met]
    shows(f"{len(found)} comparisons, {len(apart)} apart")
    assert not apart, apart
