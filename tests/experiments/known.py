"""Papers and sweeps that come with graphveil, read once: to read one is to check every experiment of its."""

from __future__ import annotations

from functools import cache

from graphveil.experiments import papers as source
from graphveil.experiments.papers import Paper
from graphveil.experiments.study import find_sweep

sweep_of = cache(find_sweep)
papers = cache(source.papers)


def paper_of(name: str) -> Paper:
    """The paper of NAME, or NAME/TABLE or NAME/FIGURE."""
    first, _, part = name.partition("/")
    (paper,) = (paper for paper in papers() if paper.name == first)
    return paper.part(part) if part else paper
