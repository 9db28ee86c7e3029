"""Figures of a result, by name. What draws them is in `show`, which registers it here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from graphveil.registry import Registry

# Draws a result into a file.
Draw = Callable[[Any, Path], None]
_figures = Registry[Draw]("figure of a result")


def register_figure(name: str) -> Callable[[Draw], Draw]:
    """Make a function that draws a result one of its figures."""

    def add(draw: Draw) -> Draw:
        _figures.add(name, draw)
        return draw

    return add


def figure_of(name: str) -> Draw:
    """What draws the figure of that name."""
    return _figures.find(name)
