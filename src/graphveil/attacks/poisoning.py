"""Malicious users: what one report can add to an estimate at most, and reports replaced by the worst that a server takes, or by ones that say nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.graphs.graph import Graph
from graphveil.mechanisms import FeatureMechanism, Mechanism
from graphveil.mechanisms.base import Subject, row_mechanism
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.mechanisms.privunit import CODE_STEP, CODES, MIDDLE, PrivUnitMechanism
from graphveil.mechanisms.reports import Reports, even_pointers
from graphveil.privacy import Plan, Respondents

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# The stream of a run's seed from which they draw where they answer for a row that is not theirs.
FORGED_STREAM = 22


class ForgingUsers:
    """Users as they are, but for malicious ones, whose reports are replaced by the worst that a server takes.

    ``direction`` says of every value how much more of it users of the target class have. `forged` is False where a mechanism's codes
    could not be chosen: then liars answer for the row that speaks most for the target, by the mechanism itself. With ``careless``
    they want nothing, and send what says nothing: blinded reports.
    """

    def __init__(
        self,
        users: Respondents,
        malicious: Truths,
        target: int,
        direction: Floats,
        seed: int,
        *,
        careless: bool = False,
    ) -> None:
        self._users, self._malicious, self._target, self._direction = users, malicious, target, direction
        self._words, self._careless = SeededBits(seed, FORGED_STREAM), careless
        self._random = np.random.default_rng([seed, FORGED_STREAM])
        self.forged = True

    def report(self, plan: Plan) -> Reports:
        """Honest reports, with those of malicious users replaced; all have the form that a server checks."""
        reports = self._users.report(plan)
        asked = (
            np.arange(len(self._malicious)) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
        )
        liars = np.flatnonzero(self._malicious[asked[reports.places]])
        if not liars.size:
            return reports
        forged = self._forge(plan, reports, liars)
        forged.check()
        return forged

    def _forge(self, plan: Plan, reports: Reports, liars: NDArray[np.int64]) -> Reports:
        built = reports.mechanism
        if self._careless:
            # What says nothing: any class, or what the blinded mechanism draws.
            if not isinstance(built, ClassMechanism | LabelMechanism):
                return self._false_rows(plan, reports, liars, blind=True)
            anything = self._random.integers(0, built.shape.alphabet, (len(liars), 1))
            return _replaced(reports, liars, anything)
        if isinstance(built, ClassMechanism):
            everybody = reports.asked, built.places_open
            lists = np.broadcast_to(built.lists.array, everybody)[reports.places[liars]]
            # Where the target is not open, the last place: what the graph thinks the least likely.
            named = (lists == self._target).argmax(axis=1)
            places = np.where((lists == self._target).any(axis=1), named, built.places_open - 1)
            return _replaced(reports, liars, places[:, None])
        if isinstance(built, LabelMechanism):
            return _replaced(reports, liars, np.full((len(liars), 1), self._target))
        # The target class is made out to have the longest rows.
        direction = np.ones(1) if plan.of == "norm" else self._direction
        if type(built) is FeatureMechanism:
            return self._worst_codes(built, reports, liars, direction)
        if type(built) is PrivUnitMechanism:
            codes = np.broadcast_to(longest_codes(built, direction), (len(liars), built.size))
            return _replaced(reports, liars, codes)
        self.forged = False
        return self._false_rows(plan, reports, liars)

    def _worst_codes(
        self,
        built: FeatureMechanism,
        reports: Reports,
        liars: NDArray[np.int64],
        direction: Floats,
    ) -> Reports:
        """The code of the largest value where the target class has more, of the smallest where it has less.

        Where reports name their values and all are asked alike, liars name those in which the target class differs most.
        """
        length = built.shape.length
        most = np.sort(np.argsort(-np.abs(direction), kind="stable")[:length])
        dims = np.broadcast_to(most, (len(liars), length))
        if reports.dims is None:
            dims = np.broadcast_to(np.arange(length), (len(liars), length))
        elif not built.asking.even:
            at = reports.indptr[liars][:, None] + np.arange(length)
            dims = reports.dims[at]
        ends = np.array([[each.outputs.argmin(), each.outputs.argmax()] for each in built.channels])
        channel = dims if len(built.channels) > 1 else np.zeros_like(dims)
        codes = ends[channel, (direction[dims] > 0).astype(np.int64)]
        return _replaced(reports, liars, codes, dims)

    def _false_rows(
        self, plan: Plan, reports: Reports, liars: NDArray[np.int64], *, blind: bool = False
    ) -> Reports:
        """Return reports by the mechanism, or its blinded version, of the row that most favours the target."""
        assert plan.range is not None
        low, high = plan.range
        row = np.where(self._direction > 0, high, low)
        if plan.of == "norm":
            row = np.array([high])
        drawing = reports.mechanism.blind() if blind else reports.mechanism
        drawn = drawing.randomize(np.broadcast_to(row, (len(liars), len(row))), self._words)
        codes, dims = drawn.codes.reshape(len(liars), -1), drawn.dims
        return _replaced(reports, liars, codes, None if dims is None else dims.reshape(codes.shape))


def longest_codes(built: PrivUnitMechanism, direction: Floats) -> NDArray[np.int64]:
    """The codes of the longest report along a direction of rows that a server takes: all of it signal, none of it noise."""
    sketch = built.sketch
    own = direction
    if sketch is not None and sketch.size < sketch.inputs:
        own = np.bincount(sketch.places, direction * sketch.signs, sketch.size).astype(np.float64)
    length = float(np.linalg.norm(own))
    unit = own / length if length > 0 else np.full(built.size, built.size**-0.5)
    # Rounded towards the middle, so that no code leaves the alphabet and the whole is not too long.
    steps = np.trunc(unit * built.longest / CODE_STEP)
    return np.clip(steps, -MIDDLE, CODES - 1 - MIDDLE).astype(np.int64) + MIDDLE


def _replaced(
    reports: Reports, liars: NDArray[np.int64], codes: NDArray[Any], dims: NDArray[Any] | None = None
) -> Reports:
    """Return the reports with the codes of liars replaced, a row each, and the values that they name, where reports name some."""
    at = reports.indptr[liars][:, None] + np.arange(codes.shape[1])
    sent = reports.codes.copy()
    sent[at] = codes
    if reports.dims is None or dims is None:
        return replace(reports, codes=sent)
    named = reports.dims.copy()
    named[at] = dims
    return replace(reports, codes=sent, dims=named)


def class_direction(rows: Any, labels: NDArray[np.int64], target: int) -> Floats:
    """Return how much more of every value users of the target class have than others, on average.

    Parameters
    ----------
    rows
        (users, values).
    labels
        The class of each user: (users,) int64.
    target
        The target class.
    """
    of_target = labels == target
    apart = np.asarray(rows[of_target].mean(axis=0)) - np.asarray(rows[~of_target].mean(axis=0))
    return np.asarray(apart, dtype=np.float64).ravel()


def weights_in_means(graph: Graph) -> Floats:
    """Return the weight of each user in the means over their neighbours' neighbourhoods; it is public.

    It is the sum of 1/degree over the user's neighbours.

    >>> from graphveil.graphs import from_arrays
    >>> weights_in_means(from_arrays(np.array([[0, 1], [0, 2]]), None, None)[0]).tolist()
    [2.0, 0.5, 0.5]
    """
    degrees = np.diff(graph.indptr)
    owners = np.repeat(np.arange(graph.node_count), degrees)
    return np.bincount(owners, 1.0 / degrees[graph.indices], graph.node_count).astype(np.float64)


@dataclass(frozen=True)
class Influence:
    """The most that one report can add to one value of an estimate, in widths of the range of that value.

    Estimates start at the least that the value can be; where they are ``unbiased``, an honest report adds 0
    to 1 on average, and else what is counted is the most that changing one report changes. A report says
    something of ``values`` of ``dims`` of them.
    """

    subject: Subject
    mechanism: str
    epsilon: float
    most: float
    values: int
    dims: int
    unbiased: bool

    def moved(self, share: float) -> float:
        """The most by which a share of users moves the mean of one value, on average over everybody's noise, in widths."""
        return share * self.most


def influence_of(plan: Plan) -> Influence:
    """The influence of one report, from the mechanism's alphabet: exact.

    >>> told = influence_of(Plan(mechanism="multibit", epsilon=1.0, dims=10, range=(0, 1), sampled=1))
    >>> round(told.most, 2), told.values
    (11.32, 1)
    """
    built = plan.build()
    label = built.label if isinstance(built, ClassMechanism) else built
    if isinstance(label, LabelMechanism):
        decoded = _decoded(label)
        most = float(decoded.max() - (0.0 if label.unbiased else decoded.min()))
    elif plan.subject == "features" and plan.range is not None:
        # An estimate is a constant, the middle of the range, and what reports add to it, up to so many widths either way.
        reach = _reach(built, plan.range[1] - plan.range[0])
        most = reach + (0.5 if built.unbiased else reach)
    else:
        raise InputError(f"what a report about {plan.subject} adds to an estimate has no bound of this kind")
    values = built.shape.length if built.shape.names_dimensions else built.shape.dimensions
    return Influence(
        plan.subject, plan.mechanism, plan.claim.epsilon, most, values, built.shape.dimensions, label.unbiased
    )


def _reach(built: Mechanism, width: float) -> float:
    """Return the largest distance of one report's estimate from the middle, in widths of a value's range."""
    if not isinstance(built, PrivUnitMechanism):
        return row_mechanism(built).largest / width
    # A number of a sketch lies between -1 and 1.
    return min(built.largest, built.reach) / (width if built.sketch is None else 2.0)


def _decoded(mechanism: Mechanism) -> Floats:
    """Return the estimate from every possible report of one code."""
    codes = np.arange(mechanism.shape.alphabet)
    kind = mechanism.randomize(np.zeros(1, dtype=np.int64)).codes.dtype
    return mechanism.estimate(
        Reports(mechanism, even_pointers(len(codes), 1), None, codes.astype(kind))
    ).dense()
