"""Boosted trees over several scores of pairs: for what no sum can say, like a score of 0 because nothing is known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from graphveil.graphs.graph import Mask
from graphveil.learn.link_features import Scores

# With fewer pairs there is nothing to fit.
FEWEST_PAIRS = 200
FOLDS = 5


class PairTrees:
    """Gradient boosting (Friedman 2001) of small trees on the scores of known pairs, few and slow, on one thread.

    ``scores`` has m numbers by name, one a pair; ``linked`` says of each pair whether it is a link.
    """

    def __init__(self, scores: Mapping[str, Scores], linked: Mask) -> None:
        self.names = list(scores)
        columns = self._columns(scores)
        self.model = _fit(columns, linked)
        self.unseen = np.zeros(len(linked))
        fold = np.arange(len(linked)) % FOLDS
        for left_out in range(FOLDS):
            fitted = _fit(columns[fold != left_out], linked[fold != left_out])
            self.unseen[fold == left_out] = _odds(fitted, columns[fold == left_out])

    def __call__(self, scores: Mapping[str, Scores]) -> Scores:
        """Log odds of a link. Those of the known pairs, each from trees that have not seen it, are ``unseen``."""
        return _odds(self.model, self._columns(scores))

    def _columns(self, scores: Mapping[str, Scores]) -> NDArray[np.float64]:
        return np.stack([scores[name] for name in self.names], axis=1)


def _fit(columns: NDArray[np.float64], linked: Mask) -> Any:
    model = HistGradientBoostingClassifier(
        max_iter=100, learning_rate=0.05, max_leaf_nodes=8, early_stopping=False, random_state=0
    )
    with threadpool_limits(1):
        return model.fit(columns, linked)


def _odds(model: Any, columns: NDArray[np.float64]) -> Scores:
    with threadpool_limits(1):
        odds: Scores = model.decision_function(columns)
    return odds
