"""What a budget bounds, against all guesses from small tables."""

import itertools
import math

import numpy as np
import pytest

from graphveil.attacks import guess_bound
from graphveil.channels import kary
from graphveil.errors import InputError


@pytest.mark.parametrize("values", [2, 3, 4])
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_k_ary_response_reaches_the_bound_and_no_guess_passes_it(epsilon, values):
    channel = kary(epsilon, values)
    table = np.array([channel.row(symbol) for symbol in range(values)], dtype=float) / channel.total
    guesses = itertools.product(range(values), repeat=values)
    accuracies = [sum(table[guess[code], code] for code in range(values)) / values for guess in guesses]
    assert max(accuracies) == pytest.approx(guess_bound(epsilon, values), rel=1e-9)
    assert max(accuracies) <= guess_bound(epsilon, values)


def test_a_delta_adds_what_it_lets_through():
    # With δ the value is told, else k-ary response answers: the largest accuracy is δ + (1-δ)e^ε/(e^ε+k-1), below the bound.
    epsilon, delta, values = 1.0, 0.1, 3
    reached = delta + (1 - delta) * math.exp(epsilon) / (math.exp(epsilon) + values - 1)
    bound = (math.exp(epsilon) + 2 * delta) / (math.exp(epsilon) + 2)
    assert guess_bound(epsilon, values, delta) == pytest.approx(bound)
    assert guess_bound(0.0, 2, 0.1) == pytest.approx(0.55)
    assert reached == pytest.approx(bound)


def test_a_huge_budget_bounds_nothing_and_does_not_overflow():
    assert guess_bound(1e6, 5) == guess_bound(math.inf) == 1.0


@pytest.mark.parametrize(
    ("wrong", "words"), [((-1.0,), "epsilon"), ((1.0, 1), "values"), ((1.0, 2, 2.0), "delta")]
)
def test_what_is_no_budget_has_no_bound(wrong, words):
    with pytest.raises(InputError, match=f"{words} must be"):
        guess_bound(*wrong)
