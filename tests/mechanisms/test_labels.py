"""Labels by k-ary response and levels by the extended square wave."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.channels.sampling import SeededBits
from graphveil.errors import InputError
from graphveil.mechanisms import LevelMechanism, mechanism
from tests.mechanisms.support import check_counts_as, exact_mean
from tests.together import together


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 15), st.integers(2, 30), st.data())
def test_the_mean_of_a_label_is_its_indicator(epsilon, classes, data):
    label = data.draw(st.integers(0, classes - 1))
    mean = exact_mean(mechanism("krr", epsilon=epsilon, classes=classes), label)
    assert mean == pytest.approx(np.eye(classes)[label].tolist(), abs=1e-9)


def test_a_label_is_kept_with_the_documented_probability():
    found = mechanism("krr", epsilon=2.0, classes=5)
    counts, total = found.joint_counts(3)
    keep = math.exp(2) / (math.exp(2) + 4)
    assert [int(count) / total for count in counts] == pytest.approx(
        [(1 - keep) / 4] * 3 + [keep, (1 - keep) / 4]
    )


def test_one_code_a_label():
    reports = mechanism("krr", epsilon=1.0, classes=300).randomize(np.arange(300), SeededBits(0))
    assert (reports.users, reports.codes.dtype, reports.dims) == (300, np.uint16, None)


@pytest.mark.statistical
def test_the_estimate_adds_to_the_answered_class_only():
    """Three labels at ε = 20, each kept but for 4·10^-9; false alarm below 1e-6, seed fixed."""
    found = mechanism("krr", epsilon=20.0, classes=3)
    dense = found.randomize([0, 2, 1], SeededBits(0)).estimate().dense()
    assert dense.argmax(axis=1).tolist() == [0, 2, 1]
    assert dense.sum(axis=1) == pytest.approx([1, 1, 1])


SYMBOLS = [("krr", {"classes": 3}, 0), ("esw", {"levels": 3}, 1)]
# None of 0..2 and none of 1..3.
NO_SYMBOLS = [-1, 7, 0.5, 1.5, np.nan, np.inf, -np.inf, 2**63, 10**400, None, "a", "1", 1j]


@together("none", NO_SYMBOLS)
@pytest.mark.parametrize(("name", "settings", "first"), SYMBOLS)
def test_what_is_no_symbol_is_answered_by_the_control(name, settings, first, none):
    """With the same words: so with the control's distribution, which is that of nobody's symbol."""
    found = mechanism(name, epsilon=4.0, **settings)
    answered = found.randomize([none] * 200, SeededBits(4)).codes
    assert found.altered([none] * 200 + [first] * 50) == 200
    for symbol in range(first, first + 3):
        control = found.blind().randomize(np.full(200, symbol), SeededBits(4)).codes
        assert answered.tolist() == control.tolist()
        assert answered.tolist() != found.randomize(np.full(200, symbol), SeededBits(4)).codes.tolist()


@together("kind", [np.int8, np.uint8, np.uint64, np.float16, np.float32, np.float64, object])
def test_a_symbol_is_one_whatever_holds_it(kind):
    held = np.arange(100)
    check_counts_as(mechanism("krr", epsilon=1.0, classes=300), held.astype(kind), held, 0)


@pytest.mark.parametrize(
    "held", [[True, False], np.array([True, False]), np.array([True, False], dtype=object)]
)
def test_true_and_false_count_as_1_and_0(held):
    krr = mechanism("krr", epsilon=20.0, classes=3)
    assert krr.altered(held) == 0
    assert krr.randomize(held).codes.tolist() == [1, 0]


@together("held", [1, np.zeros((2, 1)), np.array([[0, 1]]), "abc"])
@pytest.mark.parametrize(
    ("name", "settings", "subject"), [(*SYMBOLS[0][:2], "labels"), (*SYMBOLS[1][:2], "levels")]
)
def test_symbols_must_be_a_list(name, settings, subject, held):
    found = mechanism(name, epsilon=1.0, **settings)
    for attempt in (found.randomize, found.count, found.altered):
        with pytest.raises(InputError, match=f"{subject} must be a list, one a user, got"):
            attempt(held)


@pytest.mark.statistical
def test_levels_count_from_one():
    """Three levels at ε = 20, each kept but for 10^-8; false alarm below 1e-6, seed fixed."""
    found = mechanism("esw", epsilon=20.0, levels=5)
    assert isinstance(found, LevelMechanism)
    estimate = found.randomize([1, 5, 3], SeededBits(0)).estimate()
    assert estimate.shape == (3, 1)
    assert estimate.dense().ravel().tolist() == [1, 5, 3]


@pytest.mark.statistical
def test_a_level_may_be_answered_outside_the_scale():
    """500 draws of six outcomes, none rarer than 1/12; false alarm below 1e-6, seed fixed."""
    found = mechanism("esw", epsilon=1.0, levels=4)
    answered = found.randomize(np.full(500, 1), SeededBits(0)).estimate().dense()
    assert set(answered.ravel()) == {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}


def test_levels_are_biased_towards_the_middle():
    found = mechanism("esw", epsilon=1.0, levels=4)
    assert not found.unbiased
    assert 1 < exact_mean(found, 1)[0] < 2.5


def test_extremes_are_two_symbols():
    found = mechanism("esw", epsilon=1.0, levels=4)
    assert set(found.extremes()) <= {1, 2, 3, 4}
    assert len(set(found.extremes())) == 2
