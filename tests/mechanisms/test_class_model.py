"""Models in integers: what they compute is exact, and what cannot be computed exactly is refused."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphveil.errors import InputError
from graphveil.mechanisms import ClassModel, PublicRange
from tests.together import together

LINEAR = {"kind": "linear", "weights": [[2, 0, -1], [0, 1, 3]], "bias": [0, 5]}
HIDDEN = {
    "kind": "hidden",
    "first": [[2, 0, -1], [0, 1, 3]],
    "first_bias": [1, 2],
    "second": [[1, -1], [2, 0], [0, 3]],
    "bias": [0, 5, -1],
    "shift": 2,
}
UNIT = PublicRange(0.0, 1.0)
# The largest that doubles hold.
LARGEST = {**LINEAR, "weights": np.full((2, 32), 1 << 31), "levels": 1 << 16, "bias": [0, 0]}
LARGE = {**HIDDEN, "first": np.full((2, 3), 1 << 31), "second": np.full((3, 2), 1 << 31)}


@pytest.mark.parametrize(("told", "size"), [(LINEAR, ("linear", 2, 3)), (HIDDEN, ("hidden", 3, 3))])
def test_a_model_says_what_it_takes_and_gives(told, size):
    model = ClassModel.of(told)
    assert (model.kind, model.classes, model.dims) == size
    assert ClassModel.of(model.as_dict()) == model
    assert ClassModel.of(model.as_dict()).digest == model.digest


def test_any_change_is_another_digest():
    weights = [[2, 0, -1], [0, 1, 4]]
    for change in ({"weights": weights}, {"bias": [0, 6]}, {"levels": 255}, {"zero": 1}, {"unit": True}):
        assert ClassModel.of({**LINEAR, **change}).digest != ClassModel.of(LINEAR).digest, change


@together(
    ("change", "words"),
    [
        ({"kind": "cubic"}, 'needs a "kind", linear or hidden'),
        ({"weights": None}, "weights of the model must be lists of one length of integers"),
        (
            {"weights": [[0.5, 0, 1], [0, 1, 3]]},
            "weights of the model must be lists of one length of integers",
        ),
        ({"bias": [True, 5]}, "bias of the model must be a list of integers"),
        ({"bias": [1, 2, 3]}, "got 2 and 3"),
        ({"weights": [[1, 2, 3]], "bias": [1]}, "2 or more classes"),
        ({"levels": 1}, "levels of the model must be an integer from 2 to 65536"),
        ({"levels": 1 << 17}, "levels of the model must be an integer from 2 to 65536"),
        ({"zero": 256}, "zero of the model must be an integer from 0 to 255"),
        ({"unit": 1}, "unit of the model must be true or false"),
        ({"shift": 3}, "a linear model has no 'shift'"),
        ({"surprise": 3}, "a linear model has no 'surprise'"),
        ({"bias": [0, (1 << 52) + 1]}, r"must lie in -2\^52..2\^52, got 4503599627370497"),
        # 65,535 · 2^31 · 32 is just below 2^52, one value more is above it.
        (
            {**LARGEST, "weights": np.full((2, 33), 1 << 31)},
            r"scores of the model may reach .*, at most 2\^52",
        ),
        ({**LARGE, "shift": 0}, "a larger shift"),
        ({**HIDDEN, "first": [[1, 2], [3, 4], [5, 6]]}, "must have as many hidden units, got 3"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(change, words):
    with pytest.raises(InputError, match=words):
        ClassModel.of({**({} if "first" in change else LINEAR), **change})


def test_a_model_must_be_complete():
    with pytest.raises(InputError, match="a linear model needs bias, weights: bias is missing"):
        ClassModel.of({"kind": "linear", "weights": LINEAR["weights"]})


def test_a_model_of_too_many_integers_is_refused(monkeypatch):
    monkeypatch.setattr("graphveil.mechanisms.classes.MAX_MODEL", 8)
    assert ClassModel.of(LINEAR).dims == 3
    monkeypatch.setattr("graphveil.mechanisms.classes.MAX_MODEL", 7)
    with pytest.raises(InputError, match="a model may hold at most 7 integers, got 8"):
        ClassModel.of(LINEAR)


def test_the_largest_scores_that_doubles_hold_are_the_limit():
    assert ClassModel.of(LARGEST).dims == 32
    assert ClassModel.of({**LARGE, "shift": 22}).shift == 22


@together(
    ("point", "values"),
    [
        (0, [0.0, 0.124, -5.0, -math.inf]),
        (1, [0.125, 0.374]),
        (2, [0.375, math.nan]),
        (4, [1.0, 0.875, 9.0, math.inf]),
    ],
)
def test_values_are_clipped_and_rounded_half_up(point, values):
    model = ClassModel.of({**LINEAR, "levels": 5, "zero": 1})
    for value in values:
        assert model.integers(np.full((1, 3), value), UNIT).tolist() == [[point - 1] * 3], value


def test_what_is_no_number_counts_as_the_middle():
    for levels, middle in ((2, 1), (3, 1), (256, 128), (257, 128)):
        model = ClassModel.of({**LINEAR, "levels": levels})
        both = model.integers(np.array([[math.nan, 0.5, 0.5]]), UNIT)
        assert both.tolist() == [[middle] * 3]


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    dims=st.integers(1, 6),
    hidden=st.booleans(),
    unit=st.booleans(),
    levels=st.sampled_from([2, 3, 256, 65536]),
)
def test_scores_are_those_of_whole_numbers(data, dims, hidden, unit, levels):
    big = st.integers(-(1 << 20), 1 << 20)
    whole = lambda rows, columns: data.draw(
        st.lists(st.lists(big, min_size=columns, max_size=columns), min_size=rows, max_size=rows)
    )
    zero, shift = data.draw(st.integers(0, levels - 1)), data.draw(st.integers(10, 20))
    told = {"levels": levels, "zero": zero, "unit": unit, "bias": whole(1, 3)[0]}
    if hidden:
        told |= {"kind": "hidden", "first": whole(2, dims), "first_bias": whole(1, 2)[0]}
        told |= {"second": whole(3, 2), "shift": shift}
    else:
        told |= {"kind": "linear", "weights": whole(3, dims)}
    model = ClassModel.of(told)
    points = data.draw(st.lists(st.integers(0, levels - 1), min_size=dims, max_size=dims))
    values = [point - zero for point in points]
    scores, length = model.scores(np.array([values], dtype=float))
    n = max(1, math.isqrt(sum(value**2 for value in values))) if unit else 1
    inner, outer = values, told.get("weights") or told["second"]
    if hidden:
        pairs = zip(told["first"], told["first_bias"], strict=True)
        inner = [
            max(0, sum(w * v for w, v in zip(row, values, strict=True)) + b * n) >> shift for row, b in pairs
        ]
    pairs = zip(outer, told["bias"], strict=True)
    assert scores[0].tolist() == [
        sum(w * v for w, v in zip(row, inner, strict=True)) + b * n for row, b in pairs
    ]
    assert length.tolist() == [[n]]


@pytest.mark.parametrize("root", [1, 2, 3, 10**6, (1 << 25) - 1, 94_906_265])
@together("beside", [-1, 0, 1])
def test_lengths_next_to_squares_are_exact(root, beside):
    model = ClassModel.of({**LINEAR, "unit": True, "weights": np.zeros((2, 8), dtype=np.int64)})
    target = root**2 + beside
    assert model.scores(_with_sum(target, 8))[1].tolist() == [[max(1, math.isqrt(target))]]


def _with_sum(target, size):
    """A row of integers whose squares add up to this."""
    values = [0] * size
    for place in range(size):
        values[place] = math.isqrt(target)
        target -= values[place] ** 2
    assert target == 0
    return np.array([values], dtype=float)
