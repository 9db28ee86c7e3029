"""Is something sent as it is? A code that never varies under one row, and never comes under another, is no random answer.

This looks at reports as they come, whatever their format says, and believes no table.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.bound import best_bound
from graphveil.audit.findings import Leak, Rank, batch, reports_of
from graphveil.audit.inputs import valid_inputs
from graphveil.audit.probe import SEED, Probe
from graphveil.channels.words import SeededWords
from graphveil.mechanisms.reports import Reports

USERS, MAX_VALUES = 4096, 1 << 17
# The bound of one event is 99.9% sure; both rows are drawn again before anything is said.
LOOKS = 2


def in_the_clear(probe: Probe) -> list[str]:
    """Whether some code of a report tells two rows apart with more certainty than is claimed."""
    mechanism = probe.build()
    if mechanism.uneven:
        return []
    users = max(64, min(USERS, MAX_VALUES // max(mechanism.row_length, mechanism.report_length)))
    never: dict[int, tuple[str, int]] = {}
    for title, private in valid_inputs(mechanism, probe.public).items():
        drawn = [
            columns
            for look in range(LOOKS)
            if (columns := _columns(reports_of(mechanism, batch(private, users), SeededWords(SEED, look))))
            is not None
        ]
        if len(drawn) < LOOKS or drawn[0].shape != drawn[1].shape:
            return []
        codes = np.concatenate(drawn)
        for place in np.flatnonzero((codes == codes[0]).all(axis=0)).tolist():
            code = int(codes[0, place])
            other, before = never.setdefault(place, (title, code))
            if before != code and _more_than(mechanism.claim.epsilon, mechanism.claim.delta, users):
                return [
                    Leak(
                        f"it is sent in the clear: code {place} of a report is always {before} under {other}, and always "
                        f"{code} under {title}",
                        Rank.CLEAR,
                    )
                ]
    return []


def _columns(reports: Reports) -> NDArray[np.int64] | None:
    """The codes of all users, and the dimensions that they name, where all reports are of one length."""
    lengths = np.unique(reports.lengths)
    if len(lengths) != 1 or lengths[0] == 0:
        return None
    return reports.codes.astype(np.int64).reshape(reports.users, int(lengths[0]))


def _more_than(epsilon: float, delta: float, users: int) -> bool:
    """Whether a code that always comes under one row and never under another proves more than is claimed."""
    counts = np.array([[users], [0]])
    return best_bound(counts, lambda place: "", (0, 1), users, delta).epsilon > max(epsilon, math.log(2))
