import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.experiments.attribute_study import degree_correlations


def test_correlations_are_those_of_numpy():
    random = np.random.default_rng(0)
    features = (random.random((50, 6)) < 0.3).astype(np.float64)
    features[:, 5] = 1.0
    degrees = random.integers(1, 9, 50)
    expected = [np.corrcoef(features[:, place], degrees)[0, 1] for place in range(5)]
    for rows in (features, csr_array(features), features.astype(np.uint8)):
        assert degree_correlations(rows, degrees) == pytest.approx([*expected, 0.0])
