"""Figures that are computed without any experiment, each by a file of `reproduce/figures`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.figure import Chart
from graphveil.methods.job import Progress
from graphveil.number_format import NONE
from graphveil.plugins import unknown_name


@dataclass(frozen=True)
class FigureInput:
    """What a figure is computed from: a graph, where it needs one, and so many runs, where it draws at random.

    ``runs`` None is as many as the figure has. ``quick`` is one run at few values, to see that it works.
    """

    data: str = ""
    runs: int | None = None
    quick: bool = False
    progress: Progress = lambda what, share: None


def spans(chosen: Sequence[float], among: Sequence[float]) -> str:
    """Return some of the values of an axis in words; neighbours are joined.

    >>> spans([1, 2, 3, 9], [0.5, 1, 2, 3, 4, 9]), spans([1, 2], [1, 2, 3]), spans([], [1])
    ('1 to 3 and 9', '1 and 2', '-')
    """
    runs: list[list[float]] = []
    for place, value in enumerate(among):
        if value in chosen:
            joined = place and among[place - 1] in chosen
            runs[-1].append(value) if joined else runs.append([value])
    told = []
    for run in runs:
        told += [f"{run[0]:g} to {run[-1]:g}"] if len(run) > 2 else [f"{value:g}" for value in run]
    if not told:
        return NONE
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


# Beside `src`, in a copy of the project.
REPRODUCE = Path(__file__).parents[3] / "reproduce"


def check_computation(name: str, data: str) -> None:
    """Refuse an unknown figure, and a graph that is missing or too many; an installed package knows no figures and refuses none."""
    if not REPRODUCE.is_dir():
        return
    needs_graph = getattr(_module(name), "NEEDS_GRAPH", False)
    if data and not needs_graph:
        raise InputError(f"{name} is computed without a graph: leave data out")
    if needs_graph and not data:
        raise InputError(f"{name} is computed from a graph: name it as data")


def compute_figure(name: str, given: FigureInput) -> Chart:
    """Compute the figure that a file of `reproduce/figures` is about: "walk-distance" is that of walk_distance.py."""
    if not REPRODUCE.is_dir():
        raise InputError(
            f"{name} is computed by a file of reproduce/figures, which comes with the project's source and not with the installed "
            "package: run this in a copy of the project, installed with `pip install -e .`"
        )
    chart: Chart = _module(name).compute(given)
    return chart


def _module(name: str) -> Any:
    """The module of a figure, wherever the command was started."""
    if (folder := str(REPRODUCE.parent)) not in sys.path:
        sys.path.append(folder)
    known = [file.stem.replace("_", "-") for file in sorted((REPRODUCE / "figures").glob("[a-z]*.py"))]
    if name not in known or not hasattr(module := _import(name), "compute"):
        raise unknown_name(
            "computed figure", name, [each for each in known if hasattr(_import(each), "compute")]
        )
    return module


def _import(name: str) -> Any:
    return import_module(f"reproduce.figures.{name.replace('-', '_')}")
