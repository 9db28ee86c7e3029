"""The class that a public model gives, among those left open: the own row, the own list, one symbol through one channel."""

import hashlib
import math
import pickle
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphveil import SeededBits, mechanism
from graphveil.audit.reports import CountedBits
from graphveil.errors import InputError
from graphveil.mechanisms import ClassMechanism, ClassModel, LabelMechanism, PublicRange
from graphveil.mechanisms.classes import Integers
from tests.mechanisms.support import same_answers
from tests.together import together

RANDOM = np.random.default_rng(0)
MODEL = {"kind": "linear", "weights": RANDOM.integers(-50, 50, (5, 6)), "bias": RANDOM.integers(-900, 900, 5)}
HIDDEN = {
    "kind": "hidden",
    "first": RANDOM.integers(-50, 50, (4, 6)),
    "first_bias": RANDOM.integers(-900, 900, 4),
    "second": RANDOM.integers(-50, 50, (5, 4)),
    "bias": RANDOM.integers(-900, 900, 5),
    "shift": 5,
    "unit": True,
}
LISTS = np.array([[4, 0, 2], [1, 2, 3], [0, 1, 2], [3, 4, 1]])
OFFSETS = RANDOM.integers(-3000, 3000, LISTS.shape)
ROWS = RANDOM.random((4, 6))


def question(model=MODEL, lists=LISTS, offsets=None, span=(0, 1), epsilon=1.0):
    return ClassMechanism(
        mechanism("krr", epsilon=epsilon, classes=np.shape(lists)[1]),
        PublicRange.of(span),
        ClassModel.of(model),
        Integers.of(lists, "lists", 2),
        None if offsets is None else Integers.of(offsets, "offsets", 2),
    )


def slowly(asked, rows):
    """Places in whole numbers, one user after the other."""
    model, places = asked.model.as_dict(), []
    low, high = asked.public.low, asked.public.high
    for user, row in enumerate(np.asarray(rows, dtype=float).tolist()):
        top = model["levels"] - 1
        v = [
            model["levels"] // 2
            if math.isnan(x)
            else math.floor((min(max(x, low), high) - low) / (high - low) * top + 0.5)
            for x in row
        ]
        v = [each - model["zero"] for each in v]
        n = max(1, math.isqrt(sum(each * each for each in v))) if model["unit"] else 1
        last = model.get("second") or model["weights"]
        if "first" in model:
            sums = [sum(map(int.__mul__, weights, v)) for weights in model["first"]]
            v = [max(0, s + b * n) >> model["shift"] for s, b in zip(sums, model["first_bias"], strict=True)]
        user = user if asked.lists.shape[0] > 1 else 0
        listed = asked.lists.tolist()[user]
        added = [0] * len(listed) if asked.offsets is None else asked.offsets.tolist()[user]
        scores = [
            sum(map(int.__mul__, last[c], v)) + (model["bias"][c] + o) * n
            for c, o in zip(listed, added, strict=True)
        ]
        places.append(scores.index(max(scores)))
    return places


@pytest.mark.parametrize("model", [MODEL, HIDDEN, {**MODEL, "unit": True, "levels": 257, "zero": 128}])
@pytest.mark.parametrize("offsets", [None, OFFSETS])
@together("span", [(0, 1), (-2.5, 0.7)])
def test_places_are_those_of_whole_numbers(model, offsets, span):
    users = 400
    lists = np.argsort(RANDOM.random((users, 5)), axis=1)[:, :3]
    offsets = None if offsets is None else RANDOM.integers(-3000, 3000, lists.shape)
    asked = question(model, lists, offsets, span)
    rows = RANDOM.uniform(-3, 3, (users, 6))
    rows[::7] = 0.0
    rows[::11, 2] = np.nan
    rows[::13] = RANDOM.choice([np.inf, -np.inf, 1e300], rows[::13].shape)
    places = asked.places_of(rows)
    assert places.tolist() == slowly(asked, rows)
    assert set(places.tolist()) == {0, 1, 2}


@together("kind", [np.float32, np.float64, bool, np.int8])
@pytest.mark.parametrize("hold", [np.array, sparse.csr_matrix, sparse.csc_matrix, sparse.coo_array])
def test_any_array_that_holds_the_rows_gives_the_same_places(kind, hold):
    rows = (RANDOM.random((4, 6)) < 0.4).astype(kind)
    asked = question(HIDDEN, offsets=OFFSETS)
    assert asked.places_of(hold(rows)).tolist() == slowly(asked, rows.astype(float))


def test_of_equal_scores_the_first_in_the_list_counts_and_offsets_at_the_limit_are_exact():
    flat = {"kind": "linear", "weights": np.zeros((5, 6), dtype=np.int64), "bias": [7, 7, 7, 7, 7]}
    assert question(flat).places_of(ROWS).tolist() == [0, 0, 0, 0]
    assert question(flat, offsets=[[0, 1, 1]] * 4).places_of(ROWS).tolist() == [1, 1, 1, 1]
    most = ClassModel.of({**MODEL, "unit": True}).largest_offset
    asked = question({**MODEL, "unit": True}, offsets=[[most, most - 1, -most]] * 4)
    assert asked.places_of(np.ones((4, 6))).tolist() == slowly(asked, np.ones((4, 6)))


def test_reports_are_the_label_s_for_the_places_by_the_own_list():
    asked = question()
    reports = asked.randomize(ROWS, SeededBits(3))
    label = mechanism("krr", epsilon=1.0, classes=3)
    assert reports.codes.tolist() == label.randomize(slowly(asked, ROWS), SeededBits(3)).codes.tolist()
    assert reports.mechanism is asked
    assert (asked.claim, asked.answers, asked.subject) == (label.claim, label.answers, "features")
    assert reports.estimate().dense().shape == (4, 3)
    users, dims = 3000, 700
    model = {"kind": "linear", "weights": RANDOM.integers(-9, 9, (5, dims)), "bias": [0] * 5}
    lists = np.argsort(RANDOM.random((users, 5)), axis=1)[:, :2]
    rows = RANDOM.random((users, dims))
    asked = question(model, lists)
    alone = [int(asked.of_users([user]).places_of(rows[user][None])[0]) for user in range(0, users, 97)]
    assert asked.places_of(rows)[::97].tolist() == alone


@together("value", [0.0, 0.3, np.nan, 1e300, -np.inf])
def test_every_row_takes_one_word_and_gives_one_code(value):
    random_bits = CountedBits(1)
    reports = question().randomize(np.full((4, 6), value), random_bits)
    assert (random_bits.taken, reports.lengths.tolist(), reports.codes.dtype) == (4, [1] * 4, np.uint8)


def test_the_budget_is_the_channel_s_and_the_control_s_is_none():
    constant = {"kind": "linear", "weights": np.zeros((5, 6), dtype=np.int64), "bias": [0] * 5}
    for model in (MODEL, HIDDEN, constant):
        assert question(model).epsilon == mechanism("krr", epsilon=1.0, classes=3).epsilon
        assert question(model).holds
    control = question().blind()
    assert same_answers(control, ROWS, 1 - ROWS)
    assert (control.claim.epsilon, control.name) == (0, "blind krr")
    assert isinstance(control.label, LabelMechanism)


def test_extremes_are_reported_as_different_places_where_the_model_tells_rows_apart():
    asked = question({**MODEL, "bias": [0] * 5})
    one, other = asked.extremes()
    assert len(set(asked.of_users([0]).places_of(np.array([one, other])).tolist())) == 2
    assert asked.joint_counts(one)[0].tolist() != asked.joint_counts(other)[0].tolist()


@together(
    "change",
    [
        {"model": {**MODEL, "bias": [1, 2, 3, 4, 5]}},
        {"lists": LISTS[:, ::-1]},
        {"offsets": OFFSETS},
        {"span": (0, 2)},
        {"epsilon": 1.5},
    ],
)
def test_all_that_decides_an_answer_is_in_the_fingerprint(change):
    assert question(**change).fingerprint != question().fingerprint
    assert question(**change).fingerprint == question(**change).fingerprint


@together(
    ("change", "words"),
    [
        ({"lists": [[0, 1, 5]]}, r"lists must hold classes of the model, 0\.\.4"),
        ({"lists": [[0, -1, 2]]}, r"lists must hold classes of the model, 0\.\.4"),
        ({"lists": [[0, 1, 0]]}, "must not name a class twice for one user"),
        ({"offsets": OFFSETS[:2]}, r"offsets must be \(4, 3\) integers as lists, got \(2, 3\)"),
        ({"offsets": OFFSETS + (1 << 52)}, r"must lie within ±\d+ with this model, so that .* within 2\^52"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(change, words):
    with pytest.raises(InputError, match=words):
        question(**change)


def test_shapes_alone_are_refused_and_the_owner_learns_how_many_rows_do_not_fit():
    asked, rows = question(), ROWS.copy()
    rows[1, 0], rows[2, 5] = np.nan, 1.5
    assert asked.altered(rows) == 2
    assert asked.count(np.full((9, 6), np.nan)) == 9
    for wrong in (np.zeros((4, 5)), np.zeros(6), [[1, 2], [3]]):
        with pytest.raises(InputError, match="rows must"):
            asked.count(wrong)
    with pytest.raises(InputError, match="3 rows were given for the lists of 4 users"):
        asked.randomize(ROWS[:3])


# Models in integers: what they compute is exact, and what cannot be computed exactly is refused


LINEAR = {"kind": "linear", "weights": [[2, 0, -1], [0, 1, 3]], "bias": [0, 5]}
LAYERED = {
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
LARGE = {**LAYERED, "first": np.full((2, 3), 1 << 31), "second": np.full((3, 2), 1 << 31)}


@pytest.mark.parametrize(("told", "size"), [(LINEAR, ("linear", 2, 3)), (LAYERED, ("hidden", 3, 3))])
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
        ({**LAYERED, "first": [[1, 2], [3, 4], [5, 6]]}, "must have as many hidden units, got 3"),
    ],
)
def test_what_is_wrong_with_a_model_is_said(change, words):
    with pytest.raises(InputError, match=words):
        ClassModel.of({**({} if "first" in change else LINEAR), **change})


def test_a_model_must_be_complete_and_scores_fit_into_doubles():
    with pytest.raises(InputError, match="a linear model needs bias, weights: bias is missing"):
        ClassModel.of({"kind": "linear", "weights": LINEAR["weights"]})
    assert ClassModel.of(LARGEST).dims == 32
    assert ClassModel.of({**LARGE, "shift": 22}).shift == 22
    for levels, middle in ((2, 1), (3, 1), (256, 128), (257, 128)):
        model = ClassModel.of({**LINEAR, "levels": levels})
        both = model.integers(np.array([[math.nan, 0.5, 0.5]]), UNIT)
        assert both.tolist() == [[middle] * 3]


def test_a_model_of_too_many_integers_is_refused(monkeypatch):
    monkeypatch.setattr("graphveil.mechanisms.classes.MAX_MODEL", 8)
    assert ClassModel.of(LINEAR).dims == 3
    monkeypatch.setattr("graphveil.mechanisms.classes.MAX_MODEL", 7)
    with pytest.raises(InputError, match="a model may hold at most 7 integers, got 8"):
        ClassModel.of(LINEAR)


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


# Tables of integers: nothing but integers, read once, and never changed


@pytest.mark.parametrize(
    "given", [[[1, -2], [3, 4]], ((1, -2), (3, 4)), np.array([[1, -2], [3, 4]], dtype=np.int16)]
)
def test_lists_and_arrays_are_the_same_table(given):
    table = Integers.of(given, "lists", 2)
    assert table == Integers.of([[1, -2], [3, 4]], "lists", 2)
    assert table.tolist() == [[1, -2], [3, 4]]
    assert table.sha256 == hashlib.sha256(struct.pack("<4q", 1, -2, 3, 4)).hexdigest()


@together(
    "wrong",
    [
        *([[1, wrong]] for wrong in (True, 2.0, None)),
        *([["1", 2]], [[1], [1, 2]], [[1 << 63, 0]], [], [[]], [1, 2], "12", {"a": 1}, 7),
        *(np.zeros((2, 2)), np.zeros(2, dtype=np.int64), np.zeros((2, 2), dtype=bool)),
        np.full((1, 1), (1 << 64) - 1, dtype=np.uint64),
    ],
)
def test_what_is_no_table_of_integers_is_refused_by_name(wrong):
    with pytest.raises(
        InputError, match="^lists must be lists of one length of integers of at most 63 bits, got"
    ):
        Integers.of(wrong, "lists", 2)


@pytest.mark.parametrize("given", [[[1, 2], [3, 4]], np.ones((2, 2), dtype=np.int64)])
def test_more_integers_than_allowed_are_refused(given):
    assert Integers.of(given, "lists", 2, 4).shape == (2, 2)
    with pytest.raises(InputError, match="lists may hold at most 3 integers, got 4"):
        Integers.of(given, "lists", 2, 3)


def test_nobody_else_can_write_into_a_table():
    held = np.array([[1, 2]])
    table = Integers.of(held, "lists", 2)
    held[0, 0] = 9
    assert table.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="WRITEABLE"):
        table.array.setflags(write=True)
    with pytest.raises(ValueError, match="read-only"):
        table.floats[0, 0] = 3.0


def test_tables_are_equal_by_shape_and_numbers_and_survive_pickling():
    flat, tall = Integers.of([[1, 2]], "lists", 2), Integers.of([[1], [2]], "lists", 2)
    assert flat != tall and len({flat, tall, Integers.of([[1, 2]], "lists", 2)}) == 2
    again = pickle.loads(pickle.dumps(flat))
    assert again == flat and not again.array.flags.writeable
    assert Integers.of([[1, 2], [3, 4], [5, 6]], "lists", 2).rows([2, 0]).tolist() == [[5, 6], [1, 2]]
    empty = np.empty((0, 3), dtype=np.int64)
    table = Integers.of(empty, "lists", 2, rowless=True)
    assert table.shape == (0, 3) and table.largest == 0
    assert Integers.of(table, "lists", 2, rowless=True) is table
    for wrong, rowless in ((empty, False), (empty.T, True), ([], True)):
        with pytest.raises(InputError, match="^lists must be lists of one length"):
            Integers.of(wrong, "lists", 2, rowless=rowless)
