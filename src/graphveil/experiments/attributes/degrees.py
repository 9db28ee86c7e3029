"""What attributes have to do with how many neighbours a user has."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def degree_correlations(features: Any, degrees: Any) -> NDArray[np.float64]:
    """Pearson's correlation of each attribute with the number of neighbours; 0 for one that everybody has alike.

    >>> degree_correlations(np.array([[0, 1, 1], [1, 1, 0]]), np.array([2, 4])).tolist()
    [1.0, 0.0, -1.0]
    """
    centred = np.asarray(degrees, dtype=np.float64) - np.mean(degrees)
    mean = np.asarray(features.mean(axis=0), dtype=np.float64).ravel()
    squares = (
        features.multiply(features) if hasattr(features, "multiply") else np.square(features, dtype=float)
    )
    spread = np.sqrt(
        np.maximum(np.asarray(squares.mean(axis=0), dtype=np.float64).ravel() - np.square(mean), 0.0)
    )
    both = np.asarray(features.T @ centred, dtype=np.float64).ravel() / len(centred)
    scale = spread * centred.std()
    correlations: NDArray[np.float64] = np.divide(both, scale, out=np.zeros_like(both), where=scale > 0)
    return correlations
