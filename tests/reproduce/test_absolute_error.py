"""Expected absolute errors of channels: against formulas, by hand, and against what real mechanisms answer."""

import math

import numpy as np
import pytest

from graphveil import channels
from graphveil.channels import SeededBits
from graphveil.channels.exact import TOTAL, Claim
from graphveil.channels.gaussian import analytic_sigma
from graphveil.mechanisms import mechanism
from reproduce.figures.absolute_error import absolute_error

EPSILONS = (0.1, 1.0, 4.0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_errs_by_the_range_over_epsilon(epsilon):
    # E|Lap(1/ε)| = 1/ε for any value; cutting the noise into cells and rounding between inputs add less than 0.1%.
    error = absolute_error(channels.laplace(epsilon))
    assert error.uniform == pytest.approx(1 / epsilon, rel=1e-3)
    assert error.worst == pytest.approx(1 / epsilon, rel=2e-3)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gaussian_errs_by_sigma(epsilon):
    # E|N(0, σ²)| = σ√(2/π), on a range that is twice as wide.
    expected = analytic_sigma(epsilon, 1e-5) * math.sqrt(2 / math.pi) / 2
    assert absolute_error(channels.analytic_gaussian(epsilon, 1e-5)).uniform == pytest.approx(
        expected, rel=5e-3
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_bit_by_hand(epsilon):
    # The answer ±C is right about the sign with probability (1 + x/C)/2: E|answer - x| = C - x²/C, largest at 0.
    reach = 1 / math.tanh(epsilon / 2)
    error = absolute_error(channels.onebit(epsilon))
    assert error.worst == pytest.approx(reach / 2, rel=1e-9)
    assert error.uniform == pytest.approx((reach - 1 / (3 * reach)) / 2, rel=1e-9)


def test_three_outputs_by_hand():
    # C, 0 and -C; for x ≥ 0 and C ≥ x: E = P[C](C - x) + P[-C](C + x) + P[0]x, integrated over a fine grid.
    channel = channels.three_output(2.0)
    rows = channel.table / TOTAL
    values = (np.arange(20_000) + 0.5) / 20_000
    chances = (1 - values)[:, None] * rows[1] + values[:, None] * rows[2]
    errors = (chances * np.abs(channel.outputs - values[:, None])).sum(axis=1)
    assert absolute_error(channel).uniform == pytest.approx(errors.mean() / 2, rel=1e-6)
    assert absolute_error(channel).worst == pytest.approx(errors.max() / 2, rel=1e-6)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_featurerr_of_two_bins_by_hand(epsilon):
    # Bins (0, 1/2] and (1/2, 1] decode to 1/2 and 1; the own one is answered with p, the other with 1 - p.
    right = 1 / (1 + math.exp(-epsilon))
    wrong = 1 - right
    error = absolute_error(channels.featurerr(epsilon, 2, raw=True), binned=True)
    # Lower bin: mean distance to 1/2 is 1/4, to 1 it is 3/4. Upper bin: 1/4 to both.
    expected = (right / 4 + wrong * 3 / 4) / 2 + (right + wrong) / 4 / 2
    assert error.uniform == pytest.approx(expected, rel=1e-9)
    # The value 0 is 1/2 or 1 away, and every answer is above it; one just above 1/2 is 0 or 1/2 away.
    assert error.worst == pytest.approx(right / 2 + wrong, rel=1e-9)
    assert error.bias == pytest.approx(right / 2 + wrong, rel=1e-9)


def test_an_answer_that_is_always_the_middle_errs_by_a_quarter():
    middle = channels.Channel(
        "middle", np.array([[TOTAL], [TOTAL]]), np.array([-1.0, 1.0]), np.array([0.0]), Claim(0.0)
    )
    error = absolute_error(middle)
    assert (error.uniform, error.worst, error.bias) == pytest.approx((0.25, 0.5, 0.5))


@pytest.mark.parametrize(
    "build", [channels.piecewise, channels.hybrid, channels.pm_sub, channels.featurerr, channels.ome]
)
def test_what_is_unbiased_has_no_bias(build):
    biased = [epsilon for epsilon in EPSILONS if not absolute_error(build(epsilon)).bias < 1e-12]
    assert not biased, biased


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_clipping_keeps_answers_in_the_range_and_errs_less(epsilon):
    clipped = absolute_error(channels.laplace(epsilon), clipped=True)
    assert clipped.uniform < absolute_error(channels.laplace(epsilon)).uniform
    assert clipped.worst <= 1


USERS = 400_000
SETTINGS = {
    "featurerr": (lambda: channels.featurerr(1.0, 10, raw=True), {}, True),
    "piecewise": (lambda: channels.piecewise(1.0), {}, False),
    "three-output": (lambda: channels.three_output(1.0), {}, False),
    "laplace": (lambda: channels.laplace(1.0), {}, False),
    "latent": (lambda: channels.latent(1.0, raw=True), {"raw": True}, False),
    "ome": (lambda: channels.ome(1.0), {}, False),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", SETTINGS)
def test_real_mechanisms_err_as_computed(name):
    """Uniform values through the mechanism itself; 6 standard errors of the mean: a false alarm once in 5·10^8 (six cases: 10^8)."""
    build, options, binned = SETTINGS[name]
    found = mechanism(name, epsilon=1.0, dims=1, range=(0, 1), **options)
    assert found.channels[0] == build()
    values = np.random.default_rng(0).random((USERS, 1))
    answers = found.estimate(found.randomize(values, SeededBits(1))).dense()
    errors = np.abs(answers - values)
    expected = absolute_error(build(), binned=binned).uniform
    assert abs(errors.mean() - expected) < 6 * errors.std() / math.sqrt(USERS)


@pytest.mark.statistical
def test_the_value_that_a_real_mechanism_errs_most_about_errs_as_computed():
    """FEATURERR errs most about 0, which is farthest from the upper edges; 6 standard errors: a false alarm once in 5·10^8."""
    found = mechanism("featurerr", epsilon=1.0, dims=1, range=(0, 1))
    answers = found.estimate(found.randomize(np.zeros((USERS, 1)), SeededBits(2))).dense()
    worst = absolute_error(channels.featurerr(1.0, 10, raw=True), binned=True).worst
    assert abs(answers.mean() - worst) < 6 * answers.std() / math.sqrt(USERS)
