"""Labels by k-ary response and levels by the extended square wave."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.channels.words import SeededWords
from graphveil.errors import InputError
from graphveil.mechanisms import LabelMechanism, LevelMechanism, mechanism
from tests.mechanisms.support import exact_mean


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
    reports = mechanism("krr", epsilon=1.0, classes=300).randomize(np.arange(300), SeededWords(0))
    assert (reports.users, reports.codes.dtype, reports.dims) == (300, np.uint16, None)


@pytest.mark.statistical
def test_the_estimate_adds_to_the_answered_class_only():
    """Three labels at ε = 20, each kept but for 4·10^-9; false alarm below 1e-6, seed fixed."""
    found = mechanism("krr", epsilon=20.0, classes=3)
    dense = found.randomize([0, 2, 1], SeededWords(0)).estimate().dense()
    assert dense.argmax(axis=1).tolist() == [0, 2, 1]
    assert dense.sum(axis=1) == pytest.approx([1, 1, 1])


@pytest.mark.parametrize(
    ("name", "settings", "allowed"), [("krr", {"classes": 3}, r"0\.\.2"), ("esw", {"levels": 3}, r"1\.\.3")]
)
def test_symbols_outside_are_named(name, settings, allowed):
    found = mechanism(name, epsilon=1.0, **settings)
    for held in ([-1], [4], [1, 2, 9]):
        with pytest.raises(InputError, match=rf"must lie in {allowed}, got {min(held)}\.\.{max(held)}"):
            found.randomize(held)


@pytest.mark.parametrize("held", [[0.0, 1.0], [[0, 1]], 1, ["a"], [True]])
def test_labels_must_be_a_list_of_integers(held):
    with pytest.raises(InputError, match="labels must be a list of integers"):
        mechanism("krr", epsilon=1.0, classes=3).randomize(held)


def test_no_labels_are_fine():
    assert mechanism("krr", epsilon=1.0, classes=3).randomize(np.array([], dtype=int)).users == 0


@pytest.mark.statistical
def test_levels_count_from_one():
    """Three levels at ε = 20, each kept but for 10^-8; false alarm below 1e-6, seed fixed."""
    found = mechanism("esw", epsilon=20.0, levels=5)
    assert isinstance(found, LevelMechanism)
    estimate = found.randomize([1, 5, 3], SeededWords(0)).estimate()
    assert estimate.shape == (3, 1)
    assert estimate.dense().ravel().tolist() == [1, 5, 3]


@pytest.mark.statistical
def test_a_level_may_be_answered_outside_the_scale():
    """500 draws of six outcomes, none rarer than 1/12; false alarm below 1e-6, seed fixed."""
    found = mechanism("esw", epsilon=1.0, levels=4)
    answered = found.randomize(np.full(500, 1), SeededWords(0)).estimate().dense()
    assert set(answered.ravel()) == {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}


def test_levels_are_biased_towards_the_middle():
    found = mechanism("esw", epsilon=1.0, levels=4)
    assert not found.unbiased
    assert 1 < exact_mean(found, 1)[0] < 2.5


@pytest.mark.parametrize(("name", "setting"), [("krr", "classes"), ("esw", "levels")])
def test_the_control_answers_alike_whatever_is_held(name, setting):
    control = mechanism(name, epsilon=1.0, **{setting: 4}).blind()
    assert control.randomize(np.full(50, 1), SeededWords(1)) == control.randomize(
        np.full(50, 3), SeededWords(1)
    )


def test_extremes_are_the_two_symbols_told_apart_best():
    found = mechanism("esw", epsilon=1.0, levels=4)
    assert set(found.extremes()) <= {1, 2, 3, 4}
    assert len(set(found.extremes())) == 2


def test_repr_names_the_channel():
    found = mechanism("krr", epsilon=1.0, classes=3)
    assert isinstance(found, LabelMechanism)
    assert repr(found) == "LabelMechanism(krr, epsilon=1, KaryChannel(kary(3), epsilon=1, 3 -> 3))"
