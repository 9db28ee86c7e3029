"""Papers and sweeps that come with graphveil, read once, as to read one is to check every experiment in it; and results made up."""

from dataclasses import replace
from functools import cache

import pytest

from graphveil.experiments import papers as source
from graphveil.experiments import runner
from graphveil.experiments.measures import MEASURES
from graphveil.experiments.papers import Paper
from graphveil.experiments.result import Result
from graphveil.experiments.study import find_sweep, read_sweep
from graphveil.experiments.unit import UnitResult
from graphveil.plugins import is_reference
from graphveil.privacy.record import Privacy

papers = cache(source.papers)
sweep_of = cache(find_sweep)
_whole = cache(source.find_paper)


def paper_of(name: str) -> Paper:
    """The paper of NAME, or NAME/TABLE or NAME/FIGURE."""
    first, _, part = name.partition("/")
    return _whole(first).part(part) if part else _whole(first)


def axis(field, values, more=""):
    """An axis as files of sweeps have it."""
    return f'[[axes]]\nfield = "{field}"\nvalues = {values}\n{more}'


def choices(label, fields):
    """An axis of choices by their labels, as files of sweeps have it: the fields that each sets, and lines besides."""
    named = [f'[[axes.choices]]\nlabel = "{name}"\nset = {each}\n' for name, each in fields.items()]
    return f'[[axes]]\nlabel = "{label}"\n' + "".join(named)


@pytest.fixture
def forget_measures():
    """What files of measures bring is forgotten afterwards."""
    yield
    for name in [name for name in MEASURES if is_reference(name)]:
        MEASURES.forget(name)


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


def unit_of(part, run, score, **more):
    """A unit that took no time and cost nothing, unless more is said."""
    seconds = dict.fromkeys(("report", "denoise", "train", "total"), 0.0)
    return replace(UnitResult(part, run, score, "", Privacy(), seconds, 1.0), **more)


def result_of(experiment, **scores):
    """A result with the scores of its parts, one a run."""
    units = [unit_of(part, run, score) for part, each in scores.items() for run, score in enumerate(each)]
    return Result.from_units(experiment, tuple(units))


@pytest.fixture
def sweep(tmp_path):
    """Writes a sweep to a file of its own, and reads it."""

    def written(text, name="own"):
        file = tmp_path / f"{name}.toml"
        file.write_text(text)
        return read_sweep(file)

    return written
