"""Channels as floats, and the tops of parabolas."""

import numpy as np
import pytest

from graphveil import channels
from reproduce.figures.exact import peaks, probabilities


@pytest.mark.parametrize("channel", [channels.onebit(1.0), channels.laplace(1.0), channels.latent(1.0)])
def test_the_answers_to_every_symbol_have_probability_1_together(channel):
    np.testing.assert_allclose(probabilities(channel).sum(axis=1), 1.0, rtol=1e-12)


def test_a_parabola_is_largest_at_its_top_or_at_an_end():
    curves = [lambda x: 1 - (x - 0.25) ** 2, lambda x: (x - 0.25) ** 2, lambda x: 3 * x, lambda x: 0 * x + 7]
    start, middle, stop = (np.array([curve(x) for curve in curves]) for x in (0.0, 0.5, 1.0))
    fine = np.linspace(0, 1, 100_001)
    np.testing.assert_allclose(peaks(start, middle, stop), [curve(fine).max() for curve in curves], atol=1e-9)
