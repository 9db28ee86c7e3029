"""Products of binary channels."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Channel, Claim, Loss, ProductChannel, SeededBits, latent, ome
from graphveil.channels.sampling import BLOCK
from graphveil.errors import InputError
from tests.channels.reference import GivenWords, largest_divergence, largest_ratio, precise_exp

WORDS = 1 << 64


def bit(zero_to_one: int, one_to_one: int) -> Channel:
    """A binary channel with these counts of answering 1."""
    table = np.array([[TOTAL - zero_to_one, zero_to_one], [TOTAL - one_to_one, one_to_one]])
    return Channel("bit", table, np.array([0.0, 1.0]), np.array([0.0, 1.0]), Claim(20.0))


def string(*bits: Channel) -> ProductChannel:
    """These bits side by side; values count up from 0."""
    values = np.arange(1 << len(bits), dtype=float)
    return ProductChannel("test", bits, values, values, Claim(40.0))


EIGHTH = TOTAL // 8
DIFFERENT = string(bit(EIGHTH, 5 * EIGHTH), bit(2 * EIGHTH, 3 * EIGHTH), bit(6 * EIGHTH, EIGHTH))
STRINGS = {"different": lambda: DIFFERENT, "latent": lambda: latent(1.0, 3), "ome": lambda: ome(2.0, 3)}

bits = st.builds(bit, st.integers(1, TOTAL - 1), st.integers(1, TOTAL - 1))
strings = st.lists(bits, min_size=1, max_size=3).map(lambda parts: string(*parts))


def joint(channel: ProductChannel) -> list[list[int]]:
    """The whole table, entry by entry."""
    count = len(channel.bits)
    every = list(product((0, 1), repeat=count))
    return [
        [
            math.prod(part.row(a)[b] for part, a, b in zip(channel.bits, value, answer, strict=True))
            for answer in every
        ]
        for value in every
    ]


@pytest.mark.parametrize("name", STRINGS)
def test_rows_are_the_joint_table_and_the_loss_is_the_sum_over_bits(name):
    channel = STRINGS[name]()
    assert [channel.row(symbol) for symbol in range(8)] == joint(channel)
    assert channel.loss == Loss.total(part.loss for part in channel.bits)


@given(strings)
def test_loss_is_that_of_the_joint_table(channel):
    worst = largest_ratio(joint(channel))
    assert channel.worst.ratio == worst
    (low, high), (least, most) = channel.loss.bounds(), Loss.of(worst).bounds()
    assert low <= most and least <= high


@given(strings, st.floats(0.0, 3.0))
def test_delta_is_that_of_the_joint_table(channel: ProductChannel, epsilon: float) -> None:
    exact = largest_divergence(joint(channel), precise_exp(epsilon), channel.total)
    assert 0 <= channel.delta_at(epsilon) - exact <= Fraction(1, 10**50)


def test_delta_counts_bits_that_point_both_ways() -> None:
    # The largest δ at ε = 0 is not between the two inputs with the largest ratio.
    channel = latent(3.0, 3)
    worst = (channel.row(channel.worst.likelier), channel.row(channel.worst.rarer))
    between = sum(max(0, one - other) for one, other in zip(*worst, strict=True))
    assert channel.delta_at(0.0) > Fraction(between, channel.total)


def test_each_bit_takes_words_of_its_own_and_the_first_is_the_highest():
    # 1/8 of the words answer 1 to a 0 in the first bit, 2/8 in the second, 6/8 in the third.
    low, high = EIGHTH * 4, 3 * EIGHTH * 4
    random_bits = GivenWords([low - 1, low, high - 1, high, high, low])
    assert DIFFERENT.respond(np.array([0, 0]), random_bits).tolist() == [0b101, 0b001]
    certain = string(bit(0, TOTAL), bit(0, TOTAL), bit(0, TOTAL))
    assert certain.respond(np.arange(8), GivenWords([WORDS // 2] * 24)).tolist() == list(range(8))
    assert string(bit(EIGHTH, 2 * EIGHTH), bit(0, TOTAL)).epsilon == math.inf
    assert string(bit(1, 2), bit(3, 4)) != string(bit(3, 4), bit(1, 2))


def test_blocks_draw_bit_by_bit() -> None:
    channel, count = latent(1.0, 3), BLOCK + 5
    symbols = np.arange(count) % 8
    source, expected = SeededBits(9), []
    for block in (symbols[:BLOCK], symbols[BLOCK:]):
        answers = [
            part.respond(block >> place & 1, source).astype(int)
            for part, place in zip(channel.bits, (2, 1, 0), strict=True)
        ]
        expected.append(answers[0] * 4 + answers[1] * 2 + answers[2])
    assert np.array_equal(channel.respond(symbols, SeededBits(9)), np.concatenate(expected))


@pytest.mark.parametrize(("count", "kind"), [(1, "u1"), (8, "u1"), (9, "u2"), (16, "u2")])
def test_codes_of_a_string_have_the_smallest_type(count: int, kind: str) -> None:
    assert latent(1.0, count).respond(np.array([0]), SeededBits(0)).dtype == np.dtype(kind)


def test_refuses_a_bit_with_three_outputs_and_values_of_another_number():
    three = Channel("three", np.array([[0, 0, TOTAL]] * 2), np.arange(2.0), np.arange(3.0), Claim(1.0))
    with pytest.raises(InputError, match="a product of 1 binary channels has 2 inputs and outputs"):
        string(three)
    for inputs, outputs in ((np.arange(3.0), np.arange(4.0)), (np.arange(4.0), np.arange(5.0))):
        with pytest.raises(InputError, match="a product of 2 binary channels has 4 inputs and outputs"):
            ProductChannel("test", (bit(1, 2),) * 2, inputs, outputs, Claim(1.0))
