"""What an analysis of attributes may know of the task: the labels of training and validation users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError


@dataclass(frozen=True, eq=False)
class Known:
    """Labels (n numbers, -1 where unknown), who trains, who validates (n x bool each), and how many classes there are.

    Only labels of these users are ever read; who is in neither group, or has no known label, does not count.
    """

    labels: NDArray[np.int64]
    train: NDArray[np.bool_]
    validation: NDArray[np.bool_]
    class_count: int

    def __post_init__(self) -> None:
        if not len(self.labels) == len(self.train) == len(self.validation):
            raise InputError(
                f"labels and masks must be as long as each other, got {len(self.labels)}, {len(self.train)} "
                f"and {len(self.validation)}"
            )
        used = self.labels[self.train | self.validation]
        if used.size and int(used.max()) >= self.class_count:
            raise InputError(f"labels must be below {self.class_count}, got {int(used.max())}")
        if not self.train_users.size:
            raise InputError("an analysis learns from training users with a known label, and there are none")

    @property
    def train_users(self) -> NDArray[np.int64]:
        """Training users with a known label."""
        return np.flatnonzero(self.train & (self.labels >= 0))

    @property
    def validation_users(self) -> NDArray[np.int64]:
        """Validation users with a known label."""
        return np.flatnonzero(self.validation & (self.labels >= 0))
