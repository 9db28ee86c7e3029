"""Games: how guesses are made and counted."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from graphveil.attacks import guess_bound
from graphveil.attacks.game import Stakes, Tally, balanced, dice_of, likelier, likeliest
from graphveil.channels import kary
from tests.refusals import check_refused
from tests.together import together


def test_stakes_know_chance_and_bound_and_a_tally_counts_what_is_right():
    assert Stakes(4, 0.0).chance == Stakes(4, 0.0).bound == 0.25
    assert Tally.of(np.array([1, 0, 1]), np.array([1, 1, 1])) == Tally(2, 3)
    assert Tally(2, 3).accuracy == pytest.approx(2 / 3)
    # Balanced accuracy counts rare values as much as common ones.
    assert balanced(np.zeros(10), np.array([0] * 9 + [1])) == 0.5
    assert balanced(np.zeros(3), np.zeros(3)) is None


def test_the_likeliest_is_guessed_and_nothing_impossible():
    scores = np.array([[-np.inf, 0.0, -1.0], [-np.inf, -np.inf, -7.0]])
    assert likeliest(scores, dice_of(0)).tolist() == [1, 2]
    assert likelier(np.array([0.1, -0.1]), dice_of(0)).tolist() == [True, False]


@pytest.mark.statistical  # 4,000 coins: 6 standard deviations, false alarm 2e-9
def test_ties_are_broken_by_a_fair_coin():
    half = 6 * np.sqrt(0.25 / 4000)
    assert abs(likeliest(np.zeros((4000, 2)), dice_of(0)).mean() - 0.5) < half
    assert abs(likelier(np.zeros(4000), dice_of(0)).mean() - 0.5) < half


@together(("epsilon", "values"), itertools.product((0.5, 2.0), (2, 3, 4)))
def test_k_ary_response_reaches_the_bound_and_no_guess_passes_it(epsilon, values):
    channel = kary(epsilon, values)
    table = np.array([channel.row(symbol) for symbol in range(values)], dtype=float) / channel.total
    guesses = itertools.product(range(values), repeat=values)
    best = max(sum(table[guess[code], code] for code in range(values)) / values for guess in guesses)
    bound = guess_bound(epsilon, values)
    assert best == pytest.approx(bound, rel=1e-9)
    assert best <= bound


def test_a_delta_adds_what_it_lets_through():
    # With δ the value is told, else k-ary response answers: the largest accuracy is δ + (1-δ)e^ε/(e^ε+k-1), below the bound.
    epsilon, delta, values = 1.0, 0.1, 3
    reached = delta + (1 - delta) * math.exp(epsilon) / (math.exp(epsilon) + values - 1)
    bound = (math.exp(epsilon) + 2 * delta) / (math.exp(epsilon) + 2)
    assert guess_bound(epsilon, values, delta) == pytest.approx(bound)
    assert guess_bound(0.0, 2, 0.1) == pytest.approx(0.55)
    assert reached == pytest.approx(bound)
    assert guess_bound(1e6, 5) == guess_bound(math.inf) == 1.0


def test_what_is_no_budget_or_prior_has_no_bound():
    prior = "prior must be 2 shares of at least 0 that add up to 1"
    check_refused(
        lambda wrong: guess_bound(*wrong),
        [
            ((-1.0,), "epsilon must be"),
            ((1.0, 1), "values must be"),
            ((1.0, 2, 2.0), "delta must be"),
            *(((1.0, 2, 0.0, shares), prior) for shares in ([0.5, 0.6], [1.0], [1.2, -0.2])),
        ],
    )


def best_guess(epsilon, delta, prior):
    """The largest accuracy over all (ε, δ)-private tables of guesses, as a linear program."""
    count = len(prior)
    cells = {(i, j): i * count + j for i in range(count) for j in range(count)}
    gain = np.zeros(count * count)
    for value in range(count):
        gain[cells[value, value]] = prior[value]
    private, sums = [], np.zeros((count, count * count))
    for (i, j), place in cells.items():
        sums[i, place] = 1
        for other in range(count):
            if other != i:
                line = np.zeros(count * count)
                line[place], line[cells[other, j]] = 1, -math.exp(epsilon)
                private.append(line)
    found = linprog(
        -gain, A_ub=np.array(private), b_ub=np.full(len(private), delta), A_eq=sums, b_eq=np.ones(count)
    )
    return -found.fun


PRIORS = (0.5, 0.5), (0.9, 0.1), (0.2, 0.7, 0.1), (0.4, 0.35, 0.15, 0.1)


@together(("epsilon", "delta", "prior"), itertools.product((0.1, 0.5, 2.0), (0.0, 0.05), PRIORS))
def test_a_prior_has_the_bound_of_a_linear_program(epsilon, delta, prior):
    """Single guesses at δ > 0 are all that is compared: an event of several guesses only adds constraints."""
    expected = best_guess(epsilon, delta, prior)
    assert guess_bound(epsilon, len(prior), delta, prior) == pytest.approx(expected, abs=1e-7)


def test_equal_shares_are_the_bound_without_a_prior():
    assert guess_bound(1.5, 5, 0.01, [0.2] * 5) == pytest.approx(guess_bound(1.5, 5, 0.01))
    closed = (math.exp(1.5) + 4 * 0.01) / (math.exp(1.5) + 4)
    assert guess_bound(1.5, 5, 0.01) == pytest.approx(closed)
