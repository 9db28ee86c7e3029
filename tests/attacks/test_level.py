"""Level inference: Bayes against enumerated reports; as printed a report tells the level, sealed it does not."""

import math

import numpy as np
import pytest

import graphveil as gv
from graphveil.attacks.symbols import report_likelihoods
from graphveil.errors import InputError
from tests.attacks.small import EPSILONS, how_likely, played

BINARY, BETWEEN = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.5, 1.0])


@pytest.mark.parametrize("name", ["ppm", "ppm-printed"])
def test_likelihoods_are_those_of_enumerated_reports(name):
    mechanism = gv.mechanism(name, epsilon=1.0, dims=3, range=(0, 1), levels=3, binary=True)
    reports = mechanism.possible_reports()
    counts = np.array([mechanism.joint_counts(np.append(BINARY, level))[0] for level in (1, 2, 3)])
    found = report_likelihoods(mechanism, reports, np.tile(BINARY, (reports.users, 1)))
    for report, likely in enumerate(found):
        held = [math.log(count) if count else -math.inf for count in counts[:, report]]
        if max(held) == -math.inf:
            continue
        relative = likely - likely.max()
        assert relative == pytest.approx([each - max(held) for each in held], abs=1e-9)


def test_values_between_two_symbols_are_rounded_at_random():
    mechanism = gv.mechanism("ppm", epsilon=1.0, dims=3, range=(0, 1), levels=2)
    reports = mechanism.possible_reports()
    likely = np.exp(report_likelihoods(mechanism, reports, np.tile(BETWEEN, (reports.users, 1))))
    # Over all reports beside one choice of dimensions the probabilities of a level sum to 1.
    named = {tuple(dims) for dims in reports.dims.reshape(reports.users, -1).tolist()}
    assert likely.sum(axis=0) == pytest.approx([len(named)] * 2)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_as_printed_every_level_is_guessed(epsilon):
    stakes, plays = played("level", "ppm-printed", epsilon)
    assert [each.planted.accuracy for each in plays] == [1.0] * 3
    # The bound is what the level is claimed to be randomized at: γ of the largest budget, 8ε.
    assert stakes.epsilon == pytest.approx(0.1 * 8 * epsilon)
    assert how_likely(stakes, plays) < 0.003


def test_the_bound_of_the_sealed_one_is_its_exact_joint_loss():
    stakes, _ = played("level", "ppm", 0.5, runs=1)
    assert stakes.values == 4
    # SEEDS of PPGNN: 3.08 for budgets .5, 1, 2, 4 and γ = .1.
    assert stakes.epsilon == pytest.approx(3.08, abs=0.01)
    with pytest.raises(InputError, match="multibit asks nobody for a privacy level"):
        played("level", "multibit", 1.0)
