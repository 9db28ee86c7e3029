"""Variances and biases of channels: against formulas, and against what real mechanisms answer."""

import math

import numpy as np
import pytest

from graphveil import channels
from reproduce.figures.exact import peaks, probabilities
from reproduce.figures.squared_error import squared_error

EPSILONS = (0.1, 1.0, 4.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_has_the_variance_of_its_noise(epsilon):
    # Var Lap(2/ε) = 8/ε²; cutting the noise into cells and rounding between inputs change it by less than 1%.
    error = squared_error(channels.laplace(epsilon))
    assert error.variance == pytest.approx(8 / epsilon**2, rel=1e-2)
    assert error.whole == pytest.approx(error.variance, rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_bit_is_worst_in_the_middle(epsilon):
    # Var = C² - x² with C = coth(ε/2), largest at 0, which lies between its two symbols.
    error = squared_error(channels.onebit(epsilon))
    assert error.variance == pytest.approx(1 / math.tanh(epsilon / 2) ** 2, rel=1e-9)
    assert error.bias == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_piecewise_is_worst_at_the_ends(epsilon):
    # Var = x²/(e^{ε/2}-1) + (e^{ε/2}+3)/(3(e^{ε/2}-1)²) at x = 1.
    root = math.exp(epsilon / 2)
    expected = 1 / (root - 1) + (root + 3) / (3 * (root - 1) ** 2)
    assert squared_error(channels.piecewise(epsilon)).variance == pytest.approx(expected, rel=5e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_square_wave_as_it_is_has_its_formulas(epsilon):
    power = math.exp(epsilon)
    b = (epsilon * power - power + 1) / (power * (power - epsilon - 1))
    slope = b * (power - 1) / (b * power + 1)
    fixed = (b**3 * power + 3 * b**2 + 3 * b + 1) / (3 * (b * power + 1))
    values = np.linspace(-1, 1, 2001)
    variances = fixed + values**2 * slope - (slope * values) ** 2
    wholes = fixed + values**2 * slope - 2 * slope * values**2 + values**2
    error = squared_error(channels.square_wave(epsilon, raw=True))
    assert error.bias == pytest.approx(1 - slope, rel=1e-3)
    assert error.variance == pytest.approx(variances.max(), rel=5e-3)
    assert error.whole == pytest.approx(wholes.max(), rel=5e-3)


def test_between_two_symbols_rounding_counts():
    # Three outputs have the symbols -1, 0 and 1: at a value between two of them the answer mixes both rows.
    channel = channels.three_output(2.0)
    rows = np.array([channel.table[row] / channel.total for row in range(3)])
    shares = np.linspace(0, 1, 10_001)[:, None]
    mixed = (1 - shares) * rows[1] + shares * rows[2]
    means, squares = mixed @ channel.outputs, mixed @ channel.outputs**2
    assert squared_error(channel).variance == pytest.approx((squares - means**2).max(), rel=1e-7)


@pytest.mark.parametrize("channel", [channels.onebit(1.0), channels.laplace(1.0), channels.latent(1.0)])
def test_the_answers_to_every_symbol_have_probability_1_together(channel):
    np.testing.assert_allclose(probabilities(channel).sum(axis=1), 1.0, rtol=1e-12)


def test_a_parabola_is_largest_at_its_top_or_at_an_end():
    curves = [lambda x: 1 - (x - 0.25) ** 2, lambda x: (x - 0.25) ** 2, lambda x: 3 * x, lambda x: 0 * x + 7]
    start, middle, stop = (np.array([curve(x) for curve in curves]) for x in (0.0, 0.5, 1.0))
    fine = np.linspace(0, 1, 100_001)
    np.testing.assert_allclose(peaks(start, middle, stop), [curve(fine).max() for curve in curves], atol=1e-9)
