"""Blends: average the predictions of those candidates that do best together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def choose_blend(
    candidates: Mapping[str, NDArray[Any]], quality: Callable[[NDArray[Any]], Any], rounds: int
) -> dict[str, float]:
    """The weight of each chosen candidate (Caruana et al. 2004), from arrays of one shape that ``quality`` judges.

    In each round the candidate is added, again if need be, whose addition makes the mean of all that were added the
    best; of all rounds the best is returned. With one round that is the best candidate alone, and more rounds are never
    worse than that where ``quality`` was measured. Of equals the first is taken.

    >>> near = lambda value: -abs(float(value[0]) - 2)
    >>> choose_blend({"one": np.ones(1), "four": np.full(1, 4.0)}, near, rounds=3)
    {'one': 0.6666666666666666, 'four': 0.3333333333333333}
    """
    added: list[str] = []
    best, chosen = None, dict[str, float]()
    for _ in range(rounds):
        # Judged as they are mixed in the end: rounding could break a tie in another way.
        tried = {name: _shares([*added, name]) for name in candidates}
        reached = {name: quality(mix(candidates, weights)) for name, weights in tried.items()}
        name = max(reached, key=lambda each: reached[each])
        added.append(name)
        if best is None or reached[name] > best:
            best, chosen = reached[name], tried[name]
    return chosen


def mix(candidates: Mapping[str, NDArray[Any]], weights: Mapping[str, float]) -> NDArray[Any]:
    """The weighted mean of the chosen candidates, of the same shape."""
    mean: NDArray[Any] = np.sum([weight * candidates[name] for name, weight in weights.items()], axis=0)
    return mean


def _shares(names: Sequence[str]) -> dict[str, float]:
    """How often each name stands there, as a share."""
    return {name: count / len(names) for name, count in Counter(names).items()}
