"""Float models as integers: the same class wherever the margin is larger than what rounding may do."""

import numpy as np
import pytest

from graphveil import InputError
from graphveil.mechanisms import PublicRange
from graphveil.mechanisms.classes import MAX_SCORE
from graphveil.privacy import integer_model
from tests.together import together

RANDOM = np.random.default_rng(5)
USERS, DIMS, CLASSES, UNITS = 800, 12, 5, 7


def scores_of(model, scale, rows, span):
    """The integer scores as those of floats."""
    scores, length = model.scores(model.integers(rows, PublicRange.of(span)))
    return scores / (scale * length)


def floats(rows, weights, bias, first=None, first_bias=None, unit=False):
    if unit:
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        rows = rows / np.where(lengths == 0, 1, lengths)
    if first is not None:
        rows = np.maximum(rows @ first.T + first_bias, 0)
    return rows @ weights.T + bias


def linear():
    return RANDOM.normal(size=(CLASSES, DIMS)), RANDOM.normal(size=CLASSES)


def agrees(mine, theirs, error, most=0.8):
    """Whether classes are the same where the margin is more than twice the error, which must be most rows."""
    assert (np.abs(mine - theirs) <= error).all()
    ordered = np.sort(theirs, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 2 * np.ravel(error)
    assert clear.mean() > most
    assert (mine.argmax(axis=1) == theirs.argmax(axis=1))[clear].all()


@together("span", [(0, 1), (-1, 1), (-3.0, 5.5), (2.0, 7.0), (-4.0, -1.0)])
@together("levels", [None, 4096])
def test_a_linear_model_agrees_where_margins_are_larger_than_rounding(span, levels):
    weights, bias = linear()
    model, scale = integer_model(weights, bias, span, levels=levels)
    rows = RANDOM.uniform(*span, (USERS, DIMS))
    step = (span[1] - span[0]) / (model.levels - 1)
    # Half a step a value; half an integer a weight (times the largest value on the grid) and one for the bias.
    error = np.abs(weights).sum(axis=1).max() * step / 2 + (DIMS * model.levels + 1) / 2 / scale
    agrees(scores_of(model, scale, rows, span), floats(rows, weights, bias), error)


def test_binary_rows_are_exact_but_for_the_weights():
    weights, bias = linear()
    rows = (RANDOM.random((USERS, DIMS)) < 0.3).astype(float)
    model, scale = integer_model(weights, bias, (0, 1), levels=2, bits=20)
    agrees(scores_of(model, scale, rows, (0, 1)), floats(rows, weights, bias), (DIMS + 1) / 2 / scale)


@pytest.mark.parametrize("span", [(0, 1), (-1, 1)])
def test_a_model_of_rows_divided_by_their_length(span):
    weights, bias = linear()
    model, scale = integer_model(weights, bias, span, unit=True, levels=None if span[0] else 4096)
    rows = RANDOM.uniform(*span, (USERS, DIMS)) * (RANDOM.random((USERS, DIMS)) < 0.5)
    rows[:9] = 0.0
    assert model.unit and model.integers(np.zeros((1, DIMS)), PublicRange.of(span)).tolist() == [[0.0] * DIMS]
    mine, theirs = scores_of(model, scale, rows, span), floats(rows, weights, bias, unit=True)
    # Relative to a length on the grid: each value is off by half a step, the length by less than one and half a step a value.
    lengths = model.scores(model.integers(rows, PublicRange.of(span)))[1]
    error = np.linalg.norm(weights, axis=1).max() * ((np.sqrt(DIMS) + 1) / lengths) + DIMS / scale
    error[:9] = 1 / scale
    agrees(mine, theirs, error, most=0.5)


@pytest.mark.parametrize("unit", [False, True])
def test_a_hidden_model_agrees_where_margins_are_larger_than_rounding(unit):
    parts = {
        "weights": RANDOM.normal(size=(CLASSES, UNITS)),
        "bias": RANDOM.normal(size=CLASSES),
        "first": RANDOM.normal(size=(UNITS, DIMS)),
        "first_bias": RANDOM.normal(size=UNITS),
    }
    model, scale = integer_model(range=(0, 1), levels=65536, unit=unit, **parts)
    rows = RANDOM.uniform(0.2, 1, (USERS, DIMS))
    # On so fine a grid what is left is the rounding of the weights, 2^-17 of the largest each.
    agrees(scores_of(model, scale, rows, (0, 1)), floats(rows, **parts, unit=unit), 0.01)


def test_offsets_on_the_returned_scale_are_added_to_scores():
    weights, bias = linear()
    model, scale = integer_model(weights, bias, (0, 1), levels=4096)
    offsets, rows = np.log(RANDOM.dirichlet(np.ones(CLASSES), USERS)), RANDOM.random((USERS, DIMS))
    whole = np.rint(scale * offsets)
    assert np.abs(whole).max() <= model.largest_offset
    mine = scores_of(model, scale, rows, (0, 1)) + whole / scale
    agrees(mine, floats(rows, weights, bias) + offsets, 0.01)
    model, scale = integer_model(np.zeros((3, 4)), np.zeros(3), (0, 1))
    assert (model.weights.largest, scale) == (0, 2.0**16 - 1)


@pytest.mark.parametrize("dims", [10, 20_000])
def test_the_largest_models_leave_room_for_offsets(dims):
    first = {"first": np.ones((20, dims)), "first_bias": np.ones(20), "bits": 30}
    for weights, more in ((np.ones((3, 20)), first), (np.ones((3, dims)), {})):
        model, _ = integer_model(weights, np.ones(3), (0, 1), unit=True, **more)
        assert model.largest_offset * np.sqrt(dims) * 255 > MAX_SCORE / 2


@together(
    ("change", "words"),
    [
        ({"weights": [[1.0, np.nan]], "bias": [0.0]}, "must be finite"),
        ({"bias": [0.0]}, "weights must be outputs x inputs and biases one an output"),
        ({"weights": [1.0, 2.0]}, "weights must be outputs x inputs"),
        ({"bits": 40}, "bits must be an integer from 2 to 30"),
        ({"levels": 1}, "levels must be an integer of at least 2"),
        ({"range": (1, 0)}, "range must be two finite numbers"),
        ({"range": (-1, 2.5), "unit": True}, "0 must be one of the 256 points of the range"),
        ({"range": (1, 2), "unit": True}, "0 must be one of the 256 points of the range"),
        (
            {"first": np.ones((3, 4)), "first_bias": np.ones(3)},
            "3 hidden units do not fit weights that take 2",
        ),
    ],
)
def test_what_cannot_be_made_integers_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        integer_model(**{"weights": np.eye(2), "bias": np.zeros(2), "range": (0, 1), **change})


@pytest.mark.parametrize("first_bias", [0.0, 50.0, -50.0])
def test_scores_of_hidden_units_use_the_bits_that_they_may(first_bias):
    # One value, one unit: no score is above |first| + |bias| of the unit, and integers of 50 bits hold that much.
    model, scale = integer_model(
        [[1.0], [0.5]], [0.0, 0.0], range=(-1, 1), first=[[1.0]], first_bias=[first_bias], bits=30
    )
    assert 2**47 < scale * (1 + abs(first_bias)) <= 2**50 * (1 + 1e-6)
    assert model.shift > 0
