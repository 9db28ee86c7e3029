"""Papers and sweeps that come with graphveil, read once: to read one is to check every experiment in it."""

from __future__ import annotations

from functools import cache

import pytest

from graphveil.experiments import papers as source
from graphveil.experiments import runner
from graphveil.experiments.papers import Paper
from graphveil.experiments.study import find_sweep

papers = cache(source.papers)
sweep_of = cache(find_sweep)
_whole = cache(source.find_paper)


def paper_of(name: str) -> Paper:
    """The paper of NAME, or NAME/TABLE or NAME/FIGURE."""
    first, _, part = name.partition("/")
    return _whole(first).part(part) if part else _whole(first)


@pytest.fixture
def counted(monkeypatch):
    """The units that are computed; an interrupt comes before the one of the number that `stop` says."""
    seen = {"units": [], "stop": None}
    compute = runner.compute_unit

    def compute_unit(unit, *more):
        if len(seen["units"]) == seen["stop"]:
            raise KeyboardInterrupt
        seen["units"].append((unit.part, unit.run))
        return compute(unit, *more)

    monkeypatch.setattr(runner, "compute_unit", compute_unit)
    return seen
