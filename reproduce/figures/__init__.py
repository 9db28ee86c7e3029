"""Figures of the documents whose points are computed, one file each."""

from __future__ import annotations

from collections.abc import Sequence

from graphveil.number_format import NONE


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
