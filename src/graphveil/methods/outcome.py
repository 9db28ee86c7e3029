"""What a method gives back, and how long it took."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor

# A number for each pair of users, the higher the likelier linked.
PairScores = Callable[[NDArray[np.int64]], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Trained:
    """A backbone as it was trained: its weights by name, what its input was multiplied by, and how many columns that had."""

    weights: dict[str, Tensor]
    factor: float
    columns: int


@dataclass(frozen=True)
class TrainingCurve:
    """How training went: the losses of each epoch, and the validation score of each that was the best so far, by its number.

    ``training`` is empty where a loop keeps none.
    """

    validation: tuple[float, ...]
    better: tuple[tuple[int, float], ...]
    training: tuple[float, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What a method learned, and how it did on what validates.

    ``scores`` are those of all classes for all users, and ``validation_score`` is the accuracy. Where users have several labels each,
    they are the log-odds of each label, and the micro-F1. Where links are predicted,
    ``pair_scores`` gives the score of any pair, and ``validation_score`` is the area under the curve. ``embedding`` is what
    was learned of each user on the way, a row each. Where norms of feature rows are learned too, ``norms`` are those predicted
    for all users, and ``constant_norm`` is one guess for everybody, the mean of what training users report. ``also`` are numbers that
    the server knows besides, by name. ``curve`` says how training went, where it was one loop over epochs.
    """

    scores: NDArray[np.float32] | None
    validation_loss: float
    validation_score: float
    seconds: dict[str, float]
    detail: str = ""
    pair_scores: PairScores | None = None
    embedding: NDArray[np.float32] | None = None
    norms: NDArray[np.float64] | None = None
    constant_norm: float | None = None
    also: dict[str, float] = field(default_factory=dict)
    curve: TrainingCurve | None = None
    # The trained backbone, where the job asks for it and there is one.
    trained: Trained | None = None


class Stopwatch:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds = {"report": 0.0, "denoise": 0.0, "train": 0.0}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start
