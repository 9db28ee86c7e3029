"""Computed figures by name, as papers' files name them."""

from __future__ import annotations

from graphveil.experiments.papers.figures.expected_error import expected_error
from graphveil.experiments.papers.figures.figure import Computation
from graphveil.experiments.papers.figures.walk_distance import walk_distance
from graphveil.experiments.papers.figures.worst_variance import worst_variance
from graphveil.registry import Registry

_OWN = (
    Computation("expected-error", expected_error),
    Computation("walk-distance", walk_distance, needs_graph=True),
    Computation("worst-variance", worst_variance),
)
COMPUTATIONS = Registry[Computation]("computed figure", {each.name: each for each in _OWN})
