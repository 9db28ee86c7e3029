import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil import Claim, InputError, Plan
from graphveil.channels.channel import canonical
from graphveil.privacy.plan import described, plan_digest
from tests.people import CLASS
from tests.together import together

FEATURES = {"mechanism": "multibit", "epsilon": 1.0, "dims": 8, "range": (0, 1)}
NORM = {"mechanism": "piecewise", "epsilon": 1.0, "dims": 1, "range": (0, 3), "of": "norm"}
ASKED = {**CLASS, "users": (7, 3, 5)}


def test_a_plan_builds_its_mechanism_and_knows_its_subject():
    mechanism = Plan(**FEATURES, sampled=3).build()
    assert (mechanism.shape.dimensions, mechanism.shape.length, mechanism.claim) == (8, 3, Claim(1.0))
    assert Plan(**FEATURES).subject == Plan(**NORM).subject == Plan(**ASKED).subject == "features"
    assert Plan(mechanism="krr", epsilon=1.0, classes=3).subject == "label"
    assert Plan(mechanism="esw", epsilon=1.0, levels=3).subject == "level"
    # An option of the family reaches it, and a delta is charged where the mechanism has one.
    latent = Plan(mechanism="latent", epsilon=1.0, dims=2, range=(0, 1), options={"bits": 4})
    assert latent.build().shape.alphabet == 16
    gaussian = Plan(mechanism="analytic-gaussian", epsilon=1.0, delta=1e-4, dims=3, range=(0, 1))
    assert gaussian.claim == Claim(1.0, 1e-4)
    assert Plan(**ASKED).claim == Plan(**NORM).claim == Claim(1.0)
    assert Plan(**ASKED).build().epsilon == Plan(**LABEL).build().epsilon
    assert not {"of", "model", "lists", "offsets"} & set(json.loads(Plan(**FEATURES).to_json()))


@together(
    "plan",
    [
        Plan(mechanism="piecewise", epsilon=0.5, dims=9, range=(-1, 2), users=(1, 4), round=2),
        Plan(**NORM, users=(1, 2)),
        Plan(**ASKED),
        Plan(**{**ASKED, "offsets": None}),
    ],
)
def test_a_plan_survives_json(plan):
    again = Plan.from_json(plan.to_json())
    assert again == plan and again.build() is plan.build()


NO_RANGE, MISSING = (
    "range must be two finite numbers LOW < HIGH",
    "needs model, lists, classes, dims, range: ",
)
LISTED = "must name its users, and have a list for each: it asks"
REFUSED = [
    ({"epsilon": 0}, "epsilon must be a positive finite number, got 0.0"),
    ({"epsilon": -1}, "epsilon must be a positive finite number, got -1.0"),
    ({"epsilon": float("nan")}, "epsilon must be a positive finite number, got nan"),
    ({"epsilon": float("inf")}, "epsilon must be a positive finite number, got inf"),
    ({"delta": 1.0}, "delta must be a number in [0, 1), got 1.0"),
    ({"delta": -0.1}, "delta must be a number in [0, 1), got -0.1"),
    ({"delta": 1e-5}, "multibit is private at delta 0 and takes no delta"),
    ({"sampled": 0}, "sampled must be an integer from 1 to 8"),
    ({"sampled": 9}, "sampled must be an integer from 1 to 8"),
    ({"dims": 0}, "dims must be an integer of at least 1, got 0"),
    ({"dims": None}, "multibit needs dims"),
    ({"dims": 8.0}, "dims: "),
    ({"range": None}, "multibit needs range"),
    *(({"range": wrong}, NO_RANGE) for wrong in ((1, 1), (0, float("inf")))),
    *(({"range": wrong}, "range") for wrong in (("0", 1), (False, True))),
    ({"mechanism": "nobody"}, "no mechanism is named 'nobody': choose one of onebit"),
    *(
        ({"users": wrong}, "users must be 'all' or different numbers")
        for wrong in ((1, 1), (-1,), (1 << 40,))
    ),
    *(({"users": wrong}, "users") for wrong in (("1",), (True,))),
    ({"round": 0}, "round"),
    ({"classes": 3}, "multibit has no setting 'classes'"),
    ({"surprise": 3}, "surprise"),
    ({"options": {"bits": 3}}, "multibit has no setting 'bits'"),
    ({"options": {"dims": 3}}, "options must not hold 'dims'"),
    ({"options": {"name": "x"}}, "options must not hold 'name'"),
]
NORMS_REFUSED = [
    ({"dims": 2}, "a norm is one value"),
    ({"mechanism": "krr", "dims": None, "range": None, "classes": 3}, "a norm is one value"),
    ({"mechanism": "ppm", "levels": 3}, "a norm is one value"),
    ({"of": "sum"}, "of: "),
]
CLASSES_REFUSED = [
    *(
        ({name: None}, f"{MISSING}{name} is missing")
        for name in ("model", "lists", "range", "dims", "classes")
    ),
    ({"dims": 4}, "the model takes rows of 3 values, dims is 4"),
    ({"classes": 3}, "lists must have 3 classes a user"),
    ({"classes": 1, "lists": [[0], [1], [2]], "offsets": None}, "symbols must be an integer from 2"),
    ({"users": "all"}, f"{LISTED} all users with 3 lists"),
    ({"users": (7, 3)}, f"{LISTED} 2 users with 3 lists"),
    ({"lists": [[2, 0], [1, 3], [0, 1]]}, "lists must hold classes of the model"),
    ({"lists": [[2, 0], [1, 1], [0, 1]]}, "must not name a class twice"),
    ({"lists": [[2, 0], [1, True], [0, 1]]}, "lists: lists must be lists"),
    ({"offsets": [[0, 1]]}, "offsets must be (3, 2) integers"),
    ({"offsets": [[0, 1 << 52], [0, 0], [0, 0]]}, "offsets must lie within"),
    ({"mechanism": "multibit"}, "a class is answered like a label, by krr: multibit cannot"),
    *(
        ({name: value}, f"takes no {name}")
        for name, value in (("sampled", 1), ("levels", 2), ("delta", 1e-5))
    ),
    ({"range": (1, 0)}, NO_RANGE),
    ({"of": "values"}, "model and lists and offsets belong to a question for a class"),
    ({"options": {"model": 1}}, "krr has no setting 'model'"),
    ({"model": {"kind": "linear"}}, "model: a linear model needs"),
]
LABEL = {"mechanism": "krr", "epsilon": 1.0, "classes": 2}
LABELS_REFUSED = [
    ({name: CLASS[name]}, f"{name} belong to a question for a class")
    for name in ("model", "lists", "offsets")
]


@together(
    ("asked", "change", "words"),
    [
        (asked, *case)
        for asked, cases in (
            (FEATURES, REFUSED),
            (NORM, NORMS_REFUSED),
            (ASKED, CLASSES_REFUSED),
            (LABEL, LABELS_REFUSED),
        )
        for case in cases
    ],
)
def test_a_plan_that_cannot_be_served_is_refused_by_name(asked, change, words):
    with pytest.raises(InputError) as error:
        Plan(**{**asked, **change})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_bad_plan_from_the_network_is_refused():
    for text, words in (
        (json.dumps({**FEATURES, "epsilon": -2}), "epsilon must be a positive finite number"),
        ("{", "cannot be served"),
        (json.dumps({**LABEL, "self": 1}), "self"),
    ):
        with pytest.raises(InputError, match=words):
            Plan.from_json(text)


@given(
    epsilon=st.floats(0.01, 10),
    dims=st.integers(1, 50),
    data=st.data(),
    name=st.sampled_from(["onebit", "multibit", "duchi", "three-output"]),
)
def test_a_plan_never_promises_more_than_its_mechanism_keeps(epsilon, dims, data, name):
    sampled = data.draw(st.none() | st.integers(1, dims))
    plan = Plan(mechanism=name, epsilon=epsilon, dims=dims, range=(0, 1), sampled=sampled)
    assert plan.build().holds
    assert plan.claim.epsilon == epsilon


@together("field", ["epsilon", "delta", "dims", "sampled", "round", "classes", "levels"])
@together("value", ["1", True])
def test_a_number_is_neither_text_nor_true(field, value):
    with pytest.raises(InputError, match=f"{field}: "):
        Plan(**{**FEATURES, field: value})
    with pytest.raises(InputError, match=f"{field}: "):
        Plan.from_json(json.dumps({**FEATURES, field: value}))


def test_numbers_of_numpy_are_numbers():
    given = {"epsilon": np.float32(0.5), "dims": np.int64(8), "range": (np.float64(0), np.int32(1))}
    plan = Plan(mechanism="multibit", **given)
    assert plan == Plan(mechanism="multibit", epsilon=0.5, dims=8, range=(0, 1))
    assert (type(plan.epsilon), type(plan.dims)) == (float, int)


def test_a_plan_is_frozen_and_never_made_unchecked():
    plan = Plan(**FEATURES)
    with pytest.raises(ValueError, match="frozen"):
        plan.epsilon = 2.0
    assert plan.model_copy(update={"epsilon": 2.0}).claim == Claim(2.0)
    for change in ({"epsilon": -1.0}, {"epsilon": "2"}, {"surprise": 1}, {"options": {"dims": 1}}):
        with pytest.raises(InputError, match="cannot be served"):
            plan.model_copy(update=change)
    assert Plan.model_construct(**FEATURES) == plan
    with pytest.raises(InputError, match="epsilon must be a positive finite number"):
        Plan.model_construct(**{**FEATURES, "epsilon": -1.0})
    # What was tampered with is seen when it is checked anew.
    plan.__dict__["epsilon"] = -1.0
    with pytest.raises(InputError, match="epsilon must be a positive finite number"):
        Plan.checked(plan)


TARGETED = {**FEATURES, "sampled": 2}


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_options_are_plain_whatever_they_were_given_as(kind):
    plan = Plan(**TARGETED, options={"pool": kind([1, 3]), "from_pool": np.float64(0.5)})
    assert plan.options == {"pool": [1, 3], "from_pool": 0.5}
    assert all(type(each) is int for each in plan.options["pool"])
    assert Plan.from_json(plan.to_json()) == plan


def test_options_are_held_by_nobody_else_and_of_plain_kinds():
    pool = [1, 3]
    options = {"pool": pool, "from_pool": 0.5}
    plan = Plan(**TARGETED, options=options)
    pool.append(5)
    options["from_pool"] = 0.9
    assert plan.options == {"pool": [1, 3], "from_pool": 0.5}
    for wrong in ({1, 3}, {"a": 1}, object(), [[[[[1]]]]]):
        with pytest.raises(InputError, match="options must be numbers, words or lists"):
            Plan(**TARGETED, options={"pool": wrong})


def test_a_mechanism_is_built_once_for_equal_plans_and_anew_for_others():
    assert Plan(**FEATURES).build() is Plan(**FEATURES, round=2, users=(1,)).build()
    assert Plan(**FEATURES).build() is not Plan(**{**FEATURES, "epsilon": 1.5}).build()
    # Also where options changed after all.
    plan = Plan(**TARGETED, options={"pool": [1, 3], "from_pool": 0.5})
    before = plan.build()
    plan.options["pool"].append(5)
    assert plan.build() is not before


@pytest.mark.parametrize("kind", [str, str.encode])
def test_a_plan_that_is_too_long_is_not_read(monkeypatch, kind):
    text = Plan(**FEATURES).to_json()
    monkeypatch.setattr("graphveil.privacy.plan.MAX_BYTES", len(text))
    assert Plan.from_json(kind(text)) == Plan(**FEATURES)
    with pytest.raises(InputError, match=f"{len(text) + 1} bytes, at most {len(text)} are read"):
        Plan.from_json(kind(text + " "))


# Plans that ask for a class


def test_a_part_goes_to_its_user_alone():
    whole, part = Plan(**ASKED), Plan(**ASKED).part([3])
    told = json.loads(part.to_json())
    assert (told["users"], told["lists"], told["offsets"]) == ([3], [[1, 2]], [[0, -4]])
    assert part.model == whole.model
    assert [each.users for each in whole.parts()] == [(7,), (3,), (5,)]
    assert list(whole.parts())[1] == part
    assert part.build().fingerprint != whole.build().fingerprint
    # A part has users of the whole in its own order.
    part = whole.part([5, 7])
    assert (part.users, part.lists.tolist()) == ((5, 7), [[0, 1], [2, 0]])
    with pytest.raises(InputError, match="the plan does not ask user 4"):
        whole.part([4])
    assert Plan(**FEATURES).part([2, 1]).users == (2, 1)
    assert Plan(**FEATURES, users=(4, 2)).part([2]).users == (2,)
    with pytest.raises(InputError, match="asks 'all' users: name them"):
        next(Plan(**FEATURES).parts())


def test_a_plan_for_a_class_that_was_tampered_with_is_seen_when_it_is_checked_anew():
    plan, other = Plan(**ASKED), Plan(**{**ASKED, "lists": [[2, 0], [1, 2], [2, 1]]})
    vars(plan)["lists"] = [[2, 0], [1, 9], [0, 1]]
    with pytest.raises(InputError, match="lists must hold classes of the model"):
        Plan.checked(plan)
    vars(plan)["lists"] = other.lists
    assert Plan.checked(plan).build() is other.build()


def test_a_plan_for_very_many_users_is_made_checked_and_read_in_seconds():
    users, few = 40_000, np.random.default_rng(0)
    lists = np.argsort(few.random((users, 9)), axis=1)[:, :5]
    whole = {"users": tuple(range(users)), "classes": 5, "dims": 1000, "lists": lists}
    whole["offsets"] = few.integers(-99, 99, lists.shape)
    whole["model"] = {"kind": "linear", "weights": few.integers(-99, 99, (9, 1000)), "bias": [0] * 9}
    plan = Plan(**{**CLASS, **whole})
    for _ in range(5):
        plan = Plan.checked(plan)
    assert Plan.from_json(plan.to_json()).build() is plan.build()


# A plan's digest is its name: the same for equal plans, another one for any other


SKETCH = {"mechanism": "privunit", "epsilon": 2.0, "dims": 4, "range": (0, 1), "users": (8,)}


def test_a_digest_is_of_canonical_bytes_that_can_be_written_by_hand_and_survives_json():
    told = {"classes": 3, "epsilon": 1.0, "mechanism": "krr", "of": "values", "options": {}, "round": 1}
    plan = Plan(mechanism="krr", epsilon=1, classes=3, users=[7])
    told["users"] = np.array([7])
    assert plan_digest(plan) == hashlib.sha256(canonical(told)).hexdigest()
    for fields in (ASKED, SKETCH):
        plan = Plan(**fields)
        shuffled = dict(reversed(json.loads(plan.to_json()).items()))
        assert plan_digest(Plan.from_json(json.dumps(shuffled, indent=1))) == plan_digest(plan)
    fields = set(Plan.model_fields) - {"delta", "sampled", "binary", "levels"}
    assert set(described(Plan(**ASKED))) == fields
    ppm = Plan(mechanism="gaussian", epsilon=0.5, delta=1e-5, dims=2, range=(0, 1))
    assert {"delta"} <= set(described(ppm))


@together(
    "same",
    [
        {"options": {"inputs": 6, "hash_seed": 7, "centre": 0.0}},
        {"options": {"centre": -0.0, "hash_seed": 7, "inputs": 6}},
        {"range": (-0.0, 1.0)},
        {"epsilon": 2},
    ],
)
def test_numbers_that_are_equal_have_the_same_digest_however_they_are_written(same):
    sketch = {**SKETCH, "options": {"inputs": 6, "hash_seed": 7, "centre": 0}}
    assert plan_digest(Plan(**{**sketch, **same})) == plan_digest(Plan(**sketch))


@together(
    ("fields", "other"),
    [
        (ASKED, {"epsilon": 1.0000000000000002}),
        (ASKED, {"users": (3, 7, 5)}),
        (ASKED, {"round": 2}),
        (ASKED, {"range": (0, 2)}),
        (ASKED, {"lists": [[0, 2], [1, 2], [0, 1]]}),
        (ASKED, {"offsets": None}),
        (ASKED, {"model": {**CLASS["model"], "bias": [1, 0, 0]}}),
        (ASKED, {"model": {**CLASS["model"], "unit": True}}),
        ({**SKETCH, "options": {"inputs": 6}}, {"options": {"inputs": 7}}),
    ],
)
def test_any_change_changes_the_digest(fields, other):
    assert plan_digest(Plan(**fields)) != plan_digest(Plan(**{**fields, **other}))
