"""LATENT and OME: strings of bits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Channel, Loss, latent, ome
from graphveil.channels.exact import exp_below
from graphveil.channels.unary import bit_channel
from graphveil.errors import InputError
from tests.channels.families import bit_rates
from tests.together import together

BOTH = pytest.mark.parametrize("family", [latent, ome], ids=["latent", "ome"])


@together("name", ["latent", "ome"])
@together("epsilon", [0.1, 1.0, 6.0])
def test_bits_answer_1_as_often_as_they_should(name: str, epsilon: float) -> None:
    channel = {"latent": latent, "ome": ome}[name](epsilon, 5)
    shares = [(part.row(1)[1] / TOTAL, part.row(0)[1] / TOTAL) for part in channel.bits]
    assert np.allclose(shares, list(bit_rates(name, epsilon, 5)), rtol=1e-10, atol=0)


@BOTH
@together("bits", [1, 2, 3, 4, 10])
def test_the_budget_is_the_sum_over_all_bits_of_equal_parts(family, bits):
    channel = family(1.0, bits)
    assert channel.loss == Loss.total(part.loss for part in channel.bits)
    assert max(part.epsilon for part in channel.bits) <= 1.0 / bits


def test_large_budgets():
    # As published, the budget of one bit is taken for that of the string.
    whole = latent(1.0, 1).bits[0]
    assert Loss.total([whole.loss] * 3).exceeds(2.9)
    # Rounding one answer up by a count moves the other by e^ε counts.
    assert ome(10.0, 1).holds


@BOTH
@together("epsilon", [1e-3, 1.0, 6.0])
def test_every_string_of_3_bits_is_unbiased(family, epsilon):
    channel = family(epsilon, 3)
    outputs = [Fraction(value) for value in channel.outputs.tolist()]
    for symbol, value in enumerate(channel.inputs.tolist()):
        counts = zip(channel.row(symbol), outputs, strict=True)
        mean = sum(count * output for count, output in counts) / channel.total
        assert abs(mean - Fraction(value)) < 1e-10


@BOTH
def test_raw_reports_are_read_as_they_are(family):
    raw, unbiased = family(1.0, 3, raw=True), family(1.0, 3)
    assert np.allclose(unbiased.inputs, np.linspace(-1, 1, 8), rtol=0, atol=1e-15)
    assert np.allclose(raw.outputs, raw.inputs, rtol=0, atol=1e-15)
    assert raw.bits == unbiased.bits
    # In latent, a 1 is kept with probability 1/2, so 111 reads as the middle of the range on average.
    assert family is ome or raw.means[-1] == pytest.approx(0.0, abs=1e-9)


@given(st.floats(1e-8, 20.0), st.floats(1e-9, 1.0))
def test_a_bit_keeps_its_ratio_for_both_answers(epsilon, keep):
    channel: Channel = bit_channel(Fraction(epsilon), Fraction(keep))
    assert channel.worst.ratio <= exp_below(Fraction(epsilon))


@BOTH
@together("bits", [0, 17, -1, 2.0, True, "3", [3]])
def test_refuses_bits(family: object, bits: object) -> None:
    family(1.0, 1)  # True and 1 are the same key in a dictionary
    with pytest.raises(InputError, match="bits must be an integer from 1 to 16"):
        family(1.0, bits)


@BOTH
def test_refuses_a_budget_too_small_for_its_bits(family: object) -> None:
    with pytest.raises(InputError, match="epsilon must be at least 1e-07 for 10 bits"):
        family(math.nextafter(1e-7, 0.0), 10)
