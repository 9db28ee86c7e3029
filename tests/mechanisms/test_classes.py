"""The class that a public model gives, among those left open: the own row, the own list, one symbol through one channel."""

import math

import numpy as np
import pytest
from scipy import sparse

from graphveil import InputError, SeededBits, mechanism
from graphveil.audit.reports import CountedBits
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


def test_many_users_in_blocks_are_each_asked_by_the_own_list():
    users, dims = 3000, 700
    model = {"kind": "linear", "weights": RANDOM.integers(-9, 9, (5, dims)), "bias": [0] * 5}
    lists = np.argsort(RANDOM.random((users, 5)), axis=1)[:, :2]
    rows = RANDOM.random((users, dims))
    asked = question(model, lists)
    alone = [int(asked.of_users([user]).places_of(rows[user][None])[0]) for user in range(0, users, 97)]
    assert asked.places_of(rows)[::97].tolist() == alone


def test_reports_are_the_label_s_for_the_places():
    asked = question()
    reports = asked.randomize(ROWS, SeededBits(3))
    label = mechanism("krr", epsilon=1.0, classes=3)
    assert reports.codes.tolist() == label.randomize(slowly(asked, ROWS), SeededBits(3)).codes.tolist()
    assert reports.mechanism is asked
    assert (asked.claim, asked.answers, asked.subject) == (label.claim, label.answers, "features")
    assert reports.estimate().dense().shape == (4, 3)


@together("value", [0.0, 0.3, np.nan, 1e300, -np.inf])
def test_every_row_takes_one_word_and_gives_one_code(value):
    random_bits = CountedBits(1)
    reports = question().randomize(np.full((4, 6), value), random_bits)
    assert (random_bits.taken, reports.lengths.tolist(), reports.codes.dtype) == (4, [1] * 4, np.uint8)


def test_the_control_knows_nothing_of_a_row_and_keeps_the_format():
    control = question().blind()
    assert same_answers(control, ROWS, 1 - ROWS)
    assert (control.claim.epsilon, control.name) == (0, "blind krr")
    assert isinstance(control.label, LabelMechanism)


def test_epsilon_is_the_channel_s_whatever_the_model_is():
    constant = {"kind": "linear", "weights": np.zeros((5, 6), dtype=np.int64), "bias": [0] * 5}
    for model in (MODEL, HIDDEN, constant):
        assert question(model).epsilon == mechanism("krr", epsilon=1.0, classes=3).epsilon
        assert question(model).holds


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
