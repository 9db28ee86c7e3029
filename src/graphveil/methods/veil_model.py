"""Sources of veil's public model: a file of weights, volunteers' raw rows, or some users' private reports."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphveil import learn
from graphveil.errors import InputError
from graphveil.files import read_arrays
from graphveil.graphs.collective import Collective
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import PrivUnitMechanism, Reports
from graphveil.mechanisms.classes import ClassModel
from graphveil.mechanisms.rows import PublicRange
from graphveil.privacy.integer_model import integer_model

if TYPE_CHECKING:
    from graphveil.learn.public_model import LinearModel

Floats = NDArray[np.float64]
# Up to so many features values are taken around the middle of their range; rows of more features are mostly zeros.
FEW_FEATURES = 128
# Variances of values are at least those of a value that is at one end of the range with this probability.
LEAST_SHARE = 0.05
# Where a row tells so many nats of the own class, nobody asks what it tells of the neighbours' classes.
TELLING = 0.1
# The same for reports: where they say more of the own class than noise would, by so many standard deviations of it.
CLEARLY = 5.0
# What a file of weights holds, and how many dimensions its arrays of numbers have.
EXPECTED = "a file of weights is an .npz with weights (classes x features) and bias, and if need be shares, unit, first, first_bias"
DIMENSIONS = {"weights": 2, "bias": 1, "shares": 1, "first": 2, "first_bias": 1}


@dataclass(frozen=True, eq=False)
class PublicModel:
    """A model as clients evaluate it, what a score of 1 is in its integers, and what is known of it.

    ``gain`` is what a row tells of a class, in nats, as far as whoever taught it can say (None where nobody can); ``own`` are
    log-likelihood ratios of volunteers' own rows, each by a model that the others taught. ``about`` says whose class it is:
    one's own, or those of one's neighbours.
    """

    model: ClassModel
    scale: float
    gain: float | None = None
    own: Floats | None = None
    about: str = "self"


@dataclass(frozen=True)
class CentredRange:
    """Values as differences from a centre, in the range that they have then."""

    public: PublicRange
    centre: float

    @classmethod
    def of(cls, graph: Graph) -> CentredRange:
        """The middle of the range where features are few or 0 is no end of it; else 0, where most values are."""
        public = graph.feature_range
        sparse = graph.feature_count > FEW_FEATURES and 0.0 in (public.low, public.high)
        return cls(public, 0.0 if sparse else public.centre)

    @property
    def range(self) -> tuple[float, float]:
        """The range of the differences; around the middle it has the same ends, however they are rounded: 0 is on every grid."""
        if self.centre == self.public.centre:
            return -self.public.half_width, self.public.half_width
        return self.public.low - self.centre, self.public.high - self.centre

    def moved(self, rows: Any) -> Any:
        """Rows of values as rows of differences, clipped to the range."""
        if hasattr(rows, "tocsr") and self.centre == 0:
            clipped = rows.tocsr().astype(np.float64)
            clipped.data = np.clip(clipped.data, self.public.low, self.public.high)
            return clipped
        dense = rows.toarray() if hasattr(rows, "tocsr") else rows
        return np.clip(np.asarray(dense, dtype=np.float64), self.public.low, self.public.high) - self.centre

    def model(self, taught: LinearModel, about: str) -> PublicModel:
        """Return the model that was taught on differences, in integers."""
        model, scale = integer_model(taught.weights, taught.bias, self.range, unit=taught.unit)
        return PublicModel(model, scale, taught.gain, taught.own, about)


def model_from_panel(graph: Graph, targets: Callable[[str], Floats], about: str, seed: int) -> PublicModel:
    """Return the model that volunteers' rows teach.

    Parameters
    ----------
    targets
        A function that gives the probabilities to learn, about "self" or "neighbours": (users, classes).
    about
        "self", "neighbours", or "auto": whichever a row tells more of.
    """
    panel, around = graph.panel, CentredRange.of(graph)
    assert panel is not None
    rows = around.moved(panel.rows)
    kind = "self" if about == "auto" else about
    taught = learn.fit_rows(rows, targets(kind)[panel.users], seed)
    if about == "auto" and taught.gain < TELLING:
        other = learn.fit_rows(rows, targets("neighbours")[panel.users], seed)
        if clearly_more(other.gain, taught.gain):
            kind, taught = "neighbours", other
    model = around.model(taught, kind)
    return model if kind == "self" else replace(model, own=None)


def model_from_reports(
    reports: Reports, graph: Graph, targets: Callable[[str], Floats], users: NDArray[np.int64], about: str
) -> PublicModel:
    """Return the model that unbiased reports of some users teach: the class whose mean row is nearest.

    Parameters
    ----------
    targets
        A function that gives the probabilities to learn, about "self" or "neighbours": (users, classes).
    users
        The users who were asked.
    about
        "self", "neighbours", or "auto": whichever reports tell more of.
    """
    users, collective = users[reports.places], graph.collective
    estimate = reports.mechanism.estimate(reports)
    matrix = estimate.dense() if estimate.indices is None else estimate.to_scipy()
    noise = _second_moments(matrix, collective)
    chosen = "self" if about == "auto" else about
    found = learn.learn_means(matrix, targets(chosen)[users], noise, collective)
    if about == "auto" and found.signal < CLEARLY * math.sqrt(2 * found.apart.size):
        other = learn.learn_means(matrix, targets("neighbours")[users], noise, collective)
        if clearly_more(other.signal, found.signal):
            chosen, found = "neighbours", other
    if isinstance(reports.mechanism, PrivUnitMechanism):
        noise_left = noise / max(int(collective.sum(np.array([len(users)]))[0]), 1)
        return _of_sketches(reports.mechanism, found, noise_left, chosen)
    offset = 0.0 if estimate.indices is None else estimate.offset
    found = replace(found, centre=found.centre + offset)
    public = graph.feature_range
    width = public.high - public.low
    share = np.clip((found.centre - public.low) / width, LEAST_SHARE, 1 - LEAST_SHARE)
    spread = share * (1 - share) * width**2 / (1 if graph.binary else 3)
    taught = learn.model_of_means(found, spread, unit=False)
    return CentredRange(public, 0.0).model(taught, chosen)


def _of_sketches(mechanism: PrivUnitMechanism, means: Any, noise: Floats, about: str) -> PublicModel:
    """Return the model of rows that were sketched: weights of sketches become weights of rows, whose length is nearly the same."""
    assert mechanism.sketch is not None
    # What is left of a unit row's square when the mean row is taken away, over all its numbers.
    square = float((means.centre**2 - noise).sum())
    spread = np.full(mechanism.size, max(1 - square, 0.1) / mechanism.size)
    taught = learn.model_of_means(means, spread, unit=True)
    lifted = replace(taught, weights=mechanism.sketch.lifted(taught.weights))
    return CentredRange(mechanism.sketch.public, mechanism.sketch.centre).model(lifted, about)


def _second_moments(matrix: Any, collective: Collective) -> Floats:
    """The mean square of each column: what the noise of reports comes to, as rows add little to it."""
    if hasattr(matrix, "tocsr"):
        moments = learn.column_means(matrix.multiply(matrix), collective)
    else:
        count = int(collective.sum(np.array([len(matrix)]))[0])
        moments = collective.sum(np.einsum("ij,ij->j", matrix, matrix)) / max(count, 1)
    return np.maximum(moments, 1e-300)


def clearly_more(neighbours: float, own: float) -> bool:
    """Return whether a row clearly tells more of the neighbours' classes than of one's own, so that these are asked for."""
    return neighbours > 2 * max(own, 0.0)


def read_weights(file: str | Path, graph: Graph) -> PublicModel:
    """A model from a public file (npz): ``weights`` (classes x features) and ``bias``, whose scores are logarithms of
    probabilities up to a constant; ``shares`` of the classes that it learned from, if they are not to count; ``unit`` where it
    takes rows over their length; ``first`` (units x features) and ``first_bias`` where it has a hidden layer."""
    path = Path(file)
    held = read_arrays(path, what="a model")
    for name in ("weights", "bias", *(["first_bias"] if "first" in held else [])):
        if name not in held:
            raise InputError(f"{path} has no array {name}: {EXPECTED}")
    for name, array in held.items():
        if name in DIMENSIONS and (array.ndim != DIMENSIONS[name] or array.dtype.kind not in "iuf"):
            raise InputError(f"{path}: {name} must be numbers of {DIMENSIONS[name]} dimensions: {EXPECTED}")
    weights, bias, first = held["weights"], held["bias"].astype(np.float64), held.get("first")
    columns = weights.shape[1] if first is None else first.shape[1]
    if weights.shape[0] != graph.class_count or columns != graph.feature_count:
        raise InputError(
            f"{path} has a model of {weights.shape[0]} classes and {columns} features, and {graph.name} has {graph.class_count} and "
            f"{graph.feature_count}: {EXPECTED}"
        )
    if "shares" in held:
        shares = held["shares"].astype(np.float64)
        if shares.shape != bias.shape or not (np.isfinite(shares) & (shares > 0)).all():
            raise InputError(f"{path}: shares must be {graph.class_count} positive numbers, one a class")
        bias = bias - np.log(shares / shares.sum())
    unit = held.get("unit", np.array(False))
    if unit.shape != () or unit.dtype.kind != "b":
        raise InputError(f"{path}: unit must be true or false, got {unit.dtype} of shape {unit.shape}")
    more: dict[str, Any] = {"first": first, "first_bias": held.get("first_bias"), "unit": bool(unit)}
    return PublicModel(*integer_model(weights, bias, astuple(graph.feature_range), **more))
