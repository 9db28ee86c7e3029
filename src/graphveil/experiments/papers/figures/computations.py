"""Figures that are computed without any experiment: functions in `reproduce/figures`, which a copy of the project has.

They are not part of the installed package. Each file has a function `compute` from `Terms` to a `ComputedFigure`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.papers.figures.figure import ComputedFigure, Terms
from graphveil.registry import unknown_name

# Beside `src`, in a copy of the project.
FOLDER = Path(__file__).parents[5] / "reproduce"


def check_computation(name: str, data: str) -> None:
    """Refuse an unknown figure, and a graph that is missing or too many; an installed package knows no figures and refuses none."""
    if not FOLDER.is_dir():
        return
    needs_graph = getattr(_module(name), "NEEDS_GRAPH", False)
    if data and not needs_graph:
        raise InputError(f"{name} is computed without a graph: leave data out")
    if needs_graph and not data:
        raise InputError(f"{name} is computed from a graph: name it as data")


def compute_figure(name: str, terms: Terms) -> ComputedFigure:
    """Compute the figure that a file of `reproduce/figures` is about: "walk-distance" is that of walk_distance.py."""
    if not FOLDER.is_dir():
        raise InputError(
            f"{name} is computed by a file of reproduce/figures, which comes with the project's source and not with the installed "
            "package: run this in a copy of the project, installed with `pip install -e .`"
        )
    figure: ComputedFigure = _module(name).compute(terms)
    return figure


def _module(name: str) -> Any:
    """The module of a figure."""
    _load_package()
    known = [file.stem.replace("_", "-") for file in sorted((FOLDER / "figures").glob("*.py"))]
    if name not in known or not hasattr(module := import_module(_path(name)), "compute"):
        figures = [each for each in known if hasattr(import_module(_path(each)), "compute")]
        raise unknown_name("computed figure", name, figures)
    return module


def _path(name: str) -> str:
    return f"reproduce.figures.{name.replace('-', '_')}"


def _load_package() -> None:
    """Make `reproduce` importable, wherever the command was started."""
    if "reproduce" in sys.modules:
        return
    init = FOLDER / "__init__.py"
    spec = spec_from_file_location("reproduce", init, submodule_search_locations=[str(FOLDER)])
    assert spec is not None and spec.loader is not None
    module = sys.modules["reproduce"] = module_from_spec(spec)
    spec.loader.exec_module(module)
