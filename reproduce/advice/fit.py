"""Fit curves of gains to measured runs, and write what the package keeps of them.

    python -m reproduce.advice.fit

from the project's folder. There is a curve for towns, one for real graphs, and one for each real graph that was measured, which the
runs on that graph are left out of.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from graphveil.methods import veil_advice
from graphveil.methods.veil_advice import (
    FILE,
    KINDS,
    GainModel,
    Kind,
    error_unit,
    features,
    gain_curve,
    most_to_gain,
)
from reproduce.advice.gains import MeasuredGain, measured_gains

Floats = NDArray[np.float64]
# Graphs of the sort that is asked about, real ones or towns, count for so many of the other sort.
OWN_WEIGHT = 10.0
# Errors in towns count for so much in intervals of real graphs, and the other way round.
OTHER_SORT = 0.02
# How strongly weights keep to 0, in lines.
RIDGE = 3.0
# Differences beyond this many points count linearly.
HUBER = 3.0
# Intervals leave out so much at each end.
TAIL = 0.05


def package_models(gains: Sequence[MeasuredGain]) -> Iterator[GainModel]:
    """Yield all curves that the package keeps."""
    for kind in KINDS:
        yield fit_gain_model(kind, gains, town=True)
        yield fit_gain_model(kind, gains)
        for data in sorted({line.data for line in gains if not line.town}):
            yield fit_gain_model(kind, gains, without=data)


def fit_gain_model(
    kind: Kind, gains: Sequence[MeasuredGain], *, town: bool = False, without: str | None = None
) -> GainModel:
    """Fit the curve of all lines of that kind, for towns or for real graphs, and its errors on each graph by the curve of all others.

    Lines of the graph ``without`` are left out.
    """
    others = [line for line in gains if line.data != without]
    lines = [line for line in others if (line.situation.panel > 0) == (kind != "private")]
    points = np.array([features(line.situation, kind) for line in lines])
    most = np.array([most_to_gain(line.situation, kind) for line in lines])
    measured = np.array([line.gain for line in lines])
    counts = _line_counts(lines, town)
    centre, width = points.mean(axis=0), points.std(axis=0) + 1e-9
    scaled = (points - centre) / width
    weights = _fitted(scaled, most, measured, counts)
    names = np.array([line.data for line in lines])
    held = np.empty(len(lines))
    for name in np.unique(names):
        out = names == name
        start = _fitted(scaled[~out], most[~out], measured[~out], counts[~out], weights)
        held[out] = gain_curve(start, scaled[out], most[out])
    units = [error_unit(line.situation, kind, gain) for line, gain in zip(lines, held.tolist(), strict=True)]
    errors = (measured - held) / np.array(units)
    same_sort = np.array([line.town == town for line in lines])
    shares = np.where(same_sort, 1.0, OTHER_SORT) * counts
    low, high = (_quantile(errors, shares, at) for at in (TAIL, 1 - TAIL))
    graphs = len({line.graph for line in others})
    return GainModel(
        kind,
        town,
        without,
        graphs,
        tuple(weights.tolist()),
        tuple(centre.tolist()),
        tuple(width.tolist()),
        low,
        high,
    )


def _line_counts(lines: Sequence[MeasuredGain], town: bool) -> Floats:
    """Return how much lines count: more on graphs of the same sort, and not more where there are more lines at one budget."""
    keys = [(line.graph, line.situation.epsilon, line.situation.panel) for line in lines]
    times = {key: keys.count(key) for key in set(keys)}
    return np.array(
        [
            (OWN_WEIGHT if line.town == town else 1.0) / times[key]
            for line, key in zip(lines, keys, strict=True)
        ]
    )


def _fitted(
    points: Floats, most: Floats, gains: Floats, counts: Floats, start: Floats | None = None
) -> Floats:
    """Return the weights of the least penalised error; large errors count linearly."""

    def loss(weights: Floats) -> tuple[float, Floats]:
        curve = gain_curve(weights, points, most)
        away = curve - gains
        value = HUBER**2 * (np.sqrt(1 + (away / HUBER) ** 2) - 1)
        slope = counts * away / np.sqrt(1 + (away / HUBER) ** 2) * curve * (1 - curve / most)
        kept = np.concatenate([[0.0], weights[1:]])
        return (
            float((counts * value).sum() + RIDGE / 2 * (kept**2).sum()),
            np.concatenate([[slope.sum()], slope @ points]) + RIDGE * kept,
        )

    last = points.shape[1] - 1
    begin = np.concatenate([[-2.0], np.zeros(points.shape[1])]) if start is None else start
    bounds = [
        (None, None),
        *((0.0, None) if place < last else (None, None) for place in range(last + 1)),
    ]
    found: Floats = minimize(loss, begin, jac=True, method="L-BFGS-B", bounds=bounds).x
    return found


def _quantile(values: Floats, counts: Floats, at: float) -> float:
    """Return the value below which this share of the counts lies."""
    order = np.argsort(values)
    share = np.cumsum(counts[order]) / counts.sum()
    return float(values[order][min(int(np.searchsorted(share, at)), len(values) - 1)])


def main() -> None:
    """Write the package's file, a line for each curve."""
    lines = ",\n".join(json.dumps(asdict(model)) for model in package_models(measured_gains()))
    (Path(veil_advice.__file__).parent / FILE).write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
