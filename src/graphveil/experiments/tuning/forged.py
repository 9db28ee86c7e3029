"""Users some of whom lie: their reports have the form of honest ones, and say what speaks most for a target class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.words import SeededWords
from graphveil.mechanisms import FeatureMechanism, Reports
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.privacy import Plan, Respondents

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# The stream of a run's seed from which they draw where they answer for a row that is not theirs.
STREAM = 22


class ForgingUsers:
    """Users as they are, but for malicious ones, whose reports are replaced by the worst that a server takes.

    ``direction`` says of every value how much more of it users of the target class have. `forged` is False where a mechanism's codes
    could not be chosen: then liars answer for the row that speaks most for the target, by the mechanism itself.
    """

    def __init__(
        self, users: Respondents, malicious: Truths, target: int, direction: Floats, seed: int
    ) -> None:
        self._users, self._malicious, self._target, self._direction = users, malicious, target, direction
        self._words = SeededWords(seed, STREAM)
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
        if isinstance(built, ClassMechanism):
            lists = np.broadcast_to(built.lists.array, (reports.asked, built.places_open))[
                reports.places[liars]
            ]
            # Where the target is not open, the last place: what the graph thinks the least likely.
            named = (lists == self._target).argmax(axis=1)
            places = np.where((lists == self._target).any(axis=1), named, built.places_open - 1)
            return _with_codes(reports, liars, places[:, None])
        if isinstance(built, LabelMechanism):
            return _with_codes(reports, liars, np.full((len(liars), 1), self._target))
        if type(built) is FeatureMechanism and plan.of == "values":
            return self._worst_codes(built, reports, liars)
        self.forged = False
        return self._false_rows(plan, reports, liars)

    def _worst_codes(self, built: FeatureMechanism, reports: Reports, liars: NDArray[np.int64]) -> Reports:
        """The code of the largest value where the target class has more, of the smallest where it has less.

        Where reports name their values and all are asked alike, liars name those in which the target class differs most.
        """
        length = built.report_length
        most = np.sort(np.argsort(-np.abs(self._direction), kind="stable")[:length])
        dims = np.broadcast_to(most, (len(liars), length))
        if reports.dims is None:
            dims = np.broadcast_to(np.arange(length), (len(liars), length))
        elif not built.asking.even:
            at = reports.indptr[liars][:, None] + np.arange(length)
            dims = reports.dims[at]
        ends = np.array([[each.outputs.argmin(), each.outputs.argmax()] for each in built.channels])
        channel = dims if len(built.channels) > 1 else np.zeros_like(dims)
        codes = ends[channel, (self._direction[dims] > 0).astype(np.int64)]
        forged = _with_codes(reports, liars, codes)
        if reports.dims is None:
            return forged
        named = reports.dims.copy()
        named[reports.indptr[liars][:, None] + np.arange(length)] = dims
        return replace(forged, dims=named)

    def _false_rows(self, plan: Plan, reports: Reports, liars: NDArray[np.int64]) -> Reports:
        """What the mechanism itself makes of the row that speaks most for the target class."""
        assert plan.range is not None
        low, high = plan.range
        row = np.where(self._direction > 0, high, low)
        if plan.of == "norm":
            row = np.array([high])
        drawn = reports.mechanism.randomize(np.broadcast_to(row, (len(liars), len(row))), self._words)
        length = reports.mechanism.report_length
        at = reports.indptr[liars][:, None] + np.arange(length)
        codes = reports.codes.copy()
        codes[at] = drawn.codes.reshape(len(liars), length)
        if reports.dims is None or drawn.dims is None:
            return replace(reports, codes=codes)
        dims = reports.dims.copy()
        dims[at] = drawn.dims.reshape(len(liars), length)
        return replace(reports, codes=codes, dims=dims)


def _with_codes(reports: Reports, liars: NDArray[np.int64], chosen: NDArray[np.int64]) -> Reports:
    codes = reports.codes.copy()
    codes[reports.indptr[liars][:, None] + np.arange(chosen.shape[1])] = chosen
    return replace(reports, codes=codes)
