"""The dense reference is the multi-bit mechanism, so that a ratio to it means something."""

import math

import numpy as np
import pytest

from benchmarks.dense import dense_multibit

# Here e^ε is beyond what a float32 can tell from certainty: a bit says which end a value is at.
CERTAIN = 80.0


@pytest.mark.parametrize("sampled", [1, 3, 7])
def test_every_row_has_as_many_bits_as_asked(sampled: int) -> None:
    bits = dense_multibit(np.zeros((200, 7), np.float32), sampled, 1.0, np.random.default_rng(0))
    assert (np.abs(bits).sum(axis=1) == sampled).all()
    assert set(np.unique(bits)) <= {-1.0, 0.0, 1.0}


def test_every_row_has_as_many_float32_bits_as_asked_and_without_noise_a_bit_is_the_value() -> None:
    assert dense_multibit(np.zeros((2, 3), np.float32), 1, 1.0, np.random.default_rng(0)).dtype == np.float32
    rows = np.random.default_rng(1).integers(0, 2, (50, 4)).astype(np.float32)
    assert np.array_equal(dense_multibit(rows, 4, 4 * CERTAIN, np.random.default_rng(0)), 2 * rows - 1)


def share_of_ones(value: float, sampled: int, epsilon: float, users: int) -> tuple[float, int]:
    """How often the bits of users who all hold this value are +1, and how many bits there are."""
    rows = np.full((users, 4), value, np.float32)
    bits = dense_multibit(rows, sampled, epsilon, np.random.default_rng(2))
    return float((bits == 1).sum() / (bits != 0).sum()), int((bits != 0).sum())


@pytest.mark.statistical
@pytest.mark.parametrize("value", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("sampled", [1, 2])
def test_the_budget_is_divided_over_the_bits(value: float, sampled: int) -> None:
    """Hoeffding's bound; false alarm 1e-6, seed fixed."""
    power = math.exp(1.0 / sampled)
    share, count = share_of_ones(value, sampled, 1.0, 100_000)
    assert abs(share - (value * (power - 1) + 1) / (power + 1)) < math.sqrt(math.log(2e6) / (2 * count))


@pytest.mark.statistical
def test_all_places_are_asked_for_alike() -> None:
    """Hoeffding's bound for each of five places; false alarm 1e-6 together, seed fixed."""
    users = 100_000
    bits = dense_multibit(np.zeros((users, 5), np.float32), 2, 1.0, np.random.default_rng(3))
    asked = np.abs(bits).mean(axis=0)
    assert np.abs(asked - 2 / 5).max() < math.sqrt(math.log(1e7) / (2 * users))
