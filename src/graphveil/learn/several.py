"""Several tasks at once: the classes of users, and one number of each besides."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor
from torch.nn import functional

from graphveil.learn.targets import Targets


@dataclass(frozen=True)
class SeveralTargets:
    """Two heads (TOGL, Table 13): the last column of the scores predicts a number, all others the classes.

    The loss is that of the classes plus ``weight`` times the mean squared error against what users report of the number (NaN
    for those who did not answer, who do not count). The
    reports are unbiased, so noise moves no minimum: E(p - (y + noise))² = (p - y)² + a constant. The classes
    alone choose the epoch: the noise of the reports would choose another one, for the worse of the classes. Scores are
    n x (c + 1), ``reported`` has n numbers.
    """

    classes: Targets
    reported: Tensor
    weight: float = 1.0

    @property
    def train(self) -> Tensor:
        """Who trains."""
        return self.classes.train

    def train_loss(self, scores: Tensor) -> Tensor:
        """Both losses of the training users, given the scores of all users."""
        return self.classes.train_loss(scores[:, :-1]) + self._error(scores, self.classes.train_rows)

    def validation_loss(self, scores: Tensor) -> Tensor:
        """The loss of the validation users' classes."""
        return self.classes.validation_loss(scores[:, :-1])

    def validation_score(self, scores: Tensor) -> float:
        """How many validation users are put into the right class."""
        return self.classes.validation_score(scores[:, :-1])

    def _error(self, scores: Tensor, rows: Tensor) -> Tensor:
        rows = rows[self.reported[rows].isfinite()]
        if not len(rows):
            return scores.new_zeros(())
        return self.weight * functional.mse_loss(scores[rows, -1], self.reported[rows])
