"""Channel: what a table of counts must be, and what is read off it."""

import math
import os
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil.channels import TOTAL, Channel, Claim, Loss, SeededBits, kary, latent, onebit, piecewise
from graphveil.channels import channel as channel_module
from graphveil.channels.channel import verified
from graphveil.channels.exact import exp_below
from graphveil.errors import ClaimError, InputError
from tests.channels.reference import GivenWords, tables, whole_row
from tests.together import together

WORDS = 1 << 64


def channel_of(
    table: object, inputs: object = None, outputs: object = None, claim: Claim | None = None
) -> Channel:
    """A channel with this table; values count up from 0 unless given."""
    table = np.array(table)
    return Channel(
        "test",
        table,
        np.arange(table.shape[0], dtype=float) if inputs is None else np.array(inputs),
        np.arange(table.shape[1], dtype=float) if outputs is None else np.array(outputs),
        claim or Claim(20.0),
    )


# P[1 | 0] = 1/4, P[1 | 1] = 3/4.
QUARTERS = [whole_row([3, 1]), whole_row([1, 3])]


BESIDE = "table must have a row an input"


@together(
    ("table", "inputs", "outputs", "words"),
    [
        *(
            ([QUARTERS[0], [TOTAL // 4, 3 * TOTAL // 4 + error]], None, None, f"is off by {error}$")
            for error in (1, -1, TOTAL // 2, -TOTAL // 2)
        ),
        # 5·2^62 = 2^62 modulo 2^64.
        ([[TOTAL] * 5], None, None, r"row 0 of the table must sum to 2\^62"),
        ([[-1, TOTAL + 1]], None, None, "counts of at least 0, got -1"),
        (QUARTERS, [0.0], [0.0, 1.0], r"\(1 x 2\), got \(2, 2\)"),
        (QUARTERS, [0.0, 1.0], [0.0], r"\(2 x 1\), got \(2, 2\)"),
        (QUARTERS, [0, 1, 2], [0, 1], r"\(3 x 2\), got \(2, 2\)"),
        ([TOTAL], [0.0], [0.0], BESIDE),
        (np.zeros((0, 0)), [], [], BESIDE),
        *(
            (QUARTERS, inputs, None, "inputs must be finite and strictly ascending")
            for inputs in ([1.0, 0.0], [0.0, 0.0], [0.0, math.nan], [-math.inf, 0.0])
        ),
        *((QUARTERS, None, [0.0, value], "outputs must be finite") for value in (math.nan, math.inf)),
    ],
)
def test_refuses_what_is_no_table(table, inputs, outputs, words):
    with pytest.raises(InputError, match=words):
        channel_of(table, inputs, outputs)


def test_keeps_its_own_copy_of_the_table_which_cannot_be_written():
    table = np.array(QUARTERS)
    channel = channel_of(table)
    table[0] = 0
    assert channel.row(0) == QUARTERS[0]
    for field in ("table", "inputs", "outputs"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(channel, field)[...] = 0
    with pytest.raises(FrozenInstanceError):
        channel.name = "other"


def test_channels_differ_by_each_of_their_parts_which_repr_names():
    assert channel_of(QUARTERS) == channel_of(QUARTERS)
    for change in (
        {"table": QUARTERS[::-1]},
        {"inputs": [0.0, 2.0]},
        {"outputs": [0.0, 2.0]},
        {"claim": Claim(19.0)},
        {"claim": Claim(20.0, 0.1)},
    ):
        assert channel_of(QUARTERS) != channel_of(**{"table": QUARTERS, **change}), change
    found = channel_of(QUARTERS, claim=Claim(2.0, 0.25))
    assert repr(found) == "Channel(test, epsilon=2, delta=0.25, 2 -> 2)"


def test_epsilon_and_delta_by_hand():
    assert channel_of(QUARTERS).loss == Loss.of(Fraction(3))
    # 3/4 - r/4 = 1/4 at r = 2.
    assert channel_of(QUARTERS, claim=Claim(1.0, 0.25)).loss == Loss.of(Fraction(2))
    assert channel_of([[TOTAL, 0], QUARTERS[1]]).epsilon == math.inf
    assert channel_of(QUARTERS).delta_at(0.0) == Fraction(1, 2)
    assert channel_of(QUARTERS).delta_at(1.1) == 0
    channel = channel_of([whole_row([2, 1]), whole_row([1, 2])], claim=Claim(0.0, 0.5))
    exact = channel.delta_at(0.0)
    assert Fraction(math.nextafter(channel.delta, 0.0)) < exact <= Fraction(channel.delta)


def test_a_claim_holds_up_to_the_last_count_and_delta():
    # The largest p with p/q ≤ e, q = 2^60; none more than 2^61 at a claim of 0.
    fourth, half = TOTAL // 4, TOTAL // 2
    for claim, low, high in ((1.0, fourth, math.floor(fourth * exp_below(Fraction(1)))), (0.0, half, half)):
        for count, holds in ((high, True), (high + 1, False)):
            table = [[count, TOTAL - count], [low, TOTAL - low]]
            assert channel_of(table, claim=Claim(claim)).holds == holds
    assert channel_of(QUARTERS, claim=Claim(0.0, 0.5)).holds
    assert not channel_of(QUARTERS, claim=Claim(0.0, math.nextafter(0.5, 0.0))).holds


def test_worst_pair_at_an_epsilon() -> None:
    # At ε = 0 rows 0 and 2 are farthest apart; at ε = 3 only the output that row 1 never gives counts.
    table = [whole_row([95, 4, 1]), whole_row([90, 10, 0]), whole_row([10, 80, 10])]
    channel = channel_of(table)
    assert (set(channel.worst_pair_at(0.0)), channel.worst_pair_at(3.0)) == ({0, 2}, (2, 1))


def test_verified_gives_back_what_holds_and_names_output_and_inputs_of_a_false_claim():
    channel = channel_of(QUARTERS, claim=Claim(1.1))
    assert verified(channel) is channel
    with pytest.raises(ClaimError, match=r"test claims .*1\.0.* epsilon 1\.0986.*output 0, inputs 0 and 1"):
        verified(channel_of(QUARTERS, claim=Claim(1.0)))


@given(tables())
def test_blind_rows_are_the_mean_within_a_count_and_have_no_loss(table):
    means = [Fraction(sum(column), len(table)) for column in zip(*table.tolist(), strict=True)]
    blind = channel_of(table).blind()
    assert sum(blind.row(0)) == TOTAL
    assert all(abs(count - mean) < 1 for count, mean in zip(blind.row(0), means, strict=True))
    assert blind.loss == Loss(())


def test_moments_by_hand():
    found = channel_of(QUARTERS, [0.0, 1.0], [0.0, 4.0])
    # Mean 1+2x and second moment 4+8x.
    moments = {0.0: (1.0, 3.0), 1.0: (3.0, 3.0), 0.5: (2.0, 4.0), 0.25: (1.5, 3.75)}
    assert {value: found.moments(value) for value in moments} == moments
    assert (found.means.tolist(), found.variances.tolist()) == ([1.0, 3.0], [3.0, 3.0])
    # With equally likely inputs a report is 0 or 4, each half of the time.
    assert found.root_mean_square == pytest.approx(math.sqrt(8), rel=1e-15)
    assert found.decode(np.array([1, 0, 1], dtype=np.uint8)).tolist() == [4.0, 0.0, 4.0]
    assert channel_of(QUARTERS, outputs=[1.0, 0.0]).means.tolist() == [0.75, 0.25]


# One of each way to draw.
SAMPLERS = {
    "onebit": lambda: onebit(1.0),
    "piecewise": lambda: piecewise(1.0),
    "kary": lambda: kary(1.0, 5),
    "latent": lambda: latent(1.0, 3),
}


@together("count", [1, TOTAL // 4, TOTAL // 2 + 1, TOTAL - 1])
def test_two_outputs_are_cut_exactly_at_four_times_the_count(count):
    random_bits = GivenWords([0, 4 * count - 1, 4 * count, 4 * count + 1, WORDS - 1])
    drawn = channel_of([[TOTAL - count, count]]).respond(np.zeros(5, dtype=int), random_bits)
    assert drawn.tolist() == [1, 1, 0, 0, 0]
    for only, table in enumerate(([[TOTAL, 0]], [[0, TOTAL]])):
        drawn = channel_of(table).respond(np.zeros(2, dtype=int), GivenWords([0, WORDS - 1]))
        assert drawn.tolist() == [only] * 2


def test_two_outputs_take_the_count_of_their_own_symbol() -> None:
    between = GivenWords([TOTAL * 2] * 3)  # half of all words: above a quarter, below three quarters
    assert channel_of(QUARTERS).respond(np.array([0, 1, 0]), between).tolist() == [0, 1, 0]


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_more_outputs_are_drawn_by_the_alias_table(outputs: int, seed: int) -> None:
    channel = channel_of([whole_row(range(1, outputs + 3)), whole_row(range(outputs + 2, 0, -1))])
    symbols = np.arange(50) % 2
    by_hand = channel._alias.draw(symbols, SeededBits(seed).take(50))
    assert np.array_equal(channel.respond(symbols, SeededBits(seed)), by_hand)


@pytest.mark.parametrize("name", ["onebit", "piecewise", "kary"])
def test_the_size_of_blocks_changes_nothing(name, monkeypatch):
    channel = SAMPLERS[name]()
    symbols = np.arange(100) % channel.input_count
    expected = channel.respond(symbols, SeededBits(4))
    for block in (1, 7, 1000):
        monkeypatch.setattr(channel_module, "BLOCK", block)
        assert np.array_equal(channel.respond(symbols, SeededBits(4)), expected)


def test_draws_from_the_operating_system_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: b"\xff" * size)
    assert channel_of(QUARTERS).respond(np.array([0, 1])).tolist() == [0, 0]


@together("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"])
@pytest.mark.parametrize("name", ["onebit", "piecewise", "kary", "latent"])
def test_takes_symbols_of_any_integer_type(name: str, kind: str) -> None:
    channel = SAMPLERS[name]()
    symbols = np.arange(40) % channel.input_count
    expected = channel.respond(symbols, SeededBits(6))
    assert np.array_equal(channel.respond(symbols.astype(kind), SeededBits(6)), expected)


def test_no_symbols_give_no_codes_and_symbols_are_left_alone():
    codes = piecewise(1.0).respond(np.zeros(0, dtype=np.int64), GivenWords([]))
    assert (codes.shape, codes.dtype) == ((0,), np.dtype("u1"))
    symbols = np.array([0, 1, 1])
    onebit(1.0).respond(symbols, SeededBits(0))
    assert symbols.tolist() == [0, 1, 1]


@together(
    "symbols", [np.array([0.0]), np.array([True]), np.array(["0"]), np.zeros((2, 2), dtype=int), np.array(0)]
)
def test_refuses_what_are_no_symbols(symbols):
    with pytest.raises(InputError, match="symbols must be a list of integers"):
        onebit(1.0).respond(symbols, SeededBits(0))
