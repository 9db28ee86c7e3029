"""Games: how guesses are made and counted."""

import numpy as np
import pytest

from graphveil.attacks.game import Stakes, Tally, balanced, dice_of, likelier, likeliest


def test_stakes_know_chance_and_bound():
    assert Stakes(4, 0.0).chance == Stakes(4, 0.0).bound == 0.25


def test_a_tally_counts_what_is_right():
    assert Tally.of(np.array([1, 0, 1]), np.array([1, 1, 1])) == Tally(2, 3)
    assert Tally(2, 3).accuracy == pytest.approx(2 / 3)


def test_the_likeliest_is_guessed_and_nothing_impossible():
    scores = np.array([[-np.inf, 0.0, -1.0], [-np.inf, -np.inf, -7.0]])
    assert likeliest(scores, dice_of(0)).tolist() == [1, 2]


@pytest.mark.statistical  # 4,000 coins: 6 standard deviations, false alarm 2e-9
def test_ties_are_broken_by_a_fair_coin():
    half = 6 * np.sqrt(0.25 / 4000)
    assert abs(likeliest(np.zeros((4000, 2)), dice_of(0)).mean() - 0.5) < half
    assert abs(likelier(np.zeros(4000), dice_of(0)).mean() - 0.5) < half


def test_a_ratio_decides_where_it_says_something():
    assert likelier(np.array([0.1, -0.1]), dice_of(0)).tolist() == [True, False]


def test_balanced_accuracy_counts_rare_values_as_much_as_common_ones():
    assert balanced(np.zeros(10), np.array([0] * 9 + [1])) == 0.5
    assert balanced(np.zeros(3), np.zeros(3)) is None
