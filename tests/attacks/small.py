"""Small graphs to attack, and how unlikely an attack's success is where its bound is true."""

from functools import lru_cache

import numpy as np
from scipy.stats import binom

import graphveil as gv
from graphveil.attacks import ATTACKS, Reporting

# A test of a true bound fails by chance at most so often. There are 56 such looks: one run in 17,000 fails; the seeds are fixed.
FALSE_ALARM = 1e-6
EPSILONS = (0.5, 2.0, 8.0)
# Whatever is attacked at one budget here is attacked at all of them in tests/slow.
EPSILON = 2.0


@lru_cache(maxsize=2)
def people(users=400, features=6):
    """A random graph of users with binary features and four classes, all of it drawn once."""
    dice = np.random.default_rng(users)
    pairs = dice.integers(0, users, (4 * users, 2))
    rows = (dice.random((users, features)) < 0.4).astype(float)
    return gv.from_arrays(
        pairs[pairs[:, 0] != pairs[:, 1]], rows, dice.integers(0, 4, users), name="people", range=(0, 1)
    )


def played(attack, mechanism, epsilon, *, runs=3, data=None, claim=None, **options):
    """Stakes and plays of some runs; ``attack`` may be a name, and ``claim`` changes what the mechanism says of itself."""
    found = ATTACKS.find(attack) if isinstance(attack, str) else attack
    graph, users = data or people()
    built = found.build(mechanism, epsilon, graph, 0, options)
    if claim is not None:
        object.__setattr__(built, "claim", gv.Claim(claim))
    plays = [found.play(Reporting(built, graph, users), seed) for seed in range(runs)]
    return plays[0].stakes, plays


def how_likely(stakes, plays):
    """How often so many guesses or more are right, where the bound is true."""
    right, guesses = (sum(getattr(each.planted, name) for each in plays) for name in ("right", "guesses"))
    return float(binom.sf(right - 1, guesses, stakes.bound))


def control_is_off_by(stakes, plays):
    """How many standard deviations the control is from chance."""
    right, guesses = (sum(getattr(each.control, name) for each in plays) for name in ("right", "guesses"))
    spread = np.sqrt(stakes.chance * (1 - stakes.chance) / guesses)
    return abs(right / guesses - stakes.chance) / spread


def off_by(plays, share):
    """How many standard deviations, at the most that there can be, right guesses are from a share."""
    right, guesses = (sum(getattr(each.planted, name) for each in plays) for name in ("right", "guesses"))
    return abs(right / guesses - share) / (0.5 / np.sqrt(guesses))
