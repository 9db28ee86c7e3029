"""What a report of a personal mechanism looks like as it travels: codes of values, blanks among them, and the level's code."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import MessageError
from graphveil.mechanisms.asking import Asking
from graphveil.mechanisms.reports import Reports


@dataclass(frozen=True, eq=False)
class ReportForm:
    """Codes of as many values as anybody answers, in the order of the dimensions that are named, then that of τ', at place d.

    ``counts`` is how many values are answered by level (row) beside τ' (column); all others have the code ``blank``.
    """

    name: str
    asking: Asking
    blank: int
    level_codes: int
    counts: NDArray[np.int64]

    @property
    def length(self) -> int:
        """How many codes a report has."""
        return self.asking.count + 1

    def codes(self, reports: Reports) -> NDArray[np.unsignedinteger]:
        """All codes, a row a user."""
        return reports.codes.reshape(-1, self.length)

    def dims(self, reports: Reports) -> NDArray[np.int32]:
        """The dimensions that are named, a row a user."""
        if reports.dims is None:
            size = self.asking.size
            return np.broadcast_to(np.arange(size, dtype=np.int32), (reports.users, size))
        return reports.dims.reshape(-1, self.length)[:, :-1]

    def check(self, reports: Reports) -> None:
        """Refuse reports that nobody can have sent."""
        codes, size = self.codes(reports), self.asking.size
        if reports.dims is not None and (reports.dims.reshape(codes.shape)[:, -1] != size).any():
            raise MessageError(f"a report of {self.name} must end with its level, at place {size}")
        if (codes[:, -1] >= self.level_codes).any():
            raise MessageError(f"codes of levels must be below {self.level_codes}")
        if (codes[:, :-1] > self.blank).any():
            raise MessageError(f"codes of values must be at most {self.blank}, which is a blank")
        if reports.dims is not None and not self.asking.allows(self.dims(reports)):
            raise MessageError(
                f"a report of {self.name} must name as many values of the pool as its plan says"
            )
        answered = (codes[:, :-1] != self.blank).sum(axis=1)
        if not (self.counts.T[codes[:, -1]] == answered[:, None]).any(axis=1).all():
            raise MessageError(f"a report of {self.name} must answer as many values as its level says")
