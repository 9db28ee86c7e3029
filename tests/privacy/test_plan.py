import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphveil import Claim, InputError, Plan
from tests.together import together

FEATURES = {"mechanism": "multibit", "epsilon": 1.0, "dims": 8, "range": (0, 1)}


def test_a_plan_builds_its_mechanism():
    mechanism = Plan(**FEATURES, sampled=3).build()
    assert (mechanism.shape.dimensions, mechanism.shape.length, mechanism.claim) == (8, 3, Claim(1.0))


def test_a_plan_knows_its_subject():
    assert Plan(**FEATURES).subject == "features"
    assert Plan(mechanism="krr", epsilon=1.0, classes=3).subject == "label"
    assert Plan(mechanism="esw", epsilon=1.0, levels=3).subject == "level"


def test_a_plan_survives_json():
    plan = Plan(mechanism="piecewise", epsilon=0.5, dims=9, range=(-1, 2), users=(1, 4), round=2)
    assert Plan.from_json(plan.to_json()) == plan


def test_an_option_of_the_family_reaches_it():
    assert (
        Plan(mechanism="latent", epsilon=1.0, dims=2, range=(0, 1), options={"bits": 4})
        .build()
        .shape.alphabet
        == 16
    )


def test_delta_is_charged_where_the_mechanism_has_one():
    plan = Plan(mechanism="analytic-gaussian", epsilon=1.0, delta=1e-4, dims=3, range=(0, 1))
    assert plan.claim == Claim(1.0, 1e-4)


@together(
    ("change", "words"),
    [
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
        ({"range": None}, "multibit needs range"),
        ({"range": (1, 1)}, "range must be two finite numbers LOW < HIGH"),
        ({"range": (0, float("inf"))}, "range must be two finite numbers LOW < HIGH"),
        ({"mechanism": "nobody"}, "no mechanism is named 'nobody': choose one of onebit"),
        ({"users": (1, 1)}, "users must be 'all' or different numbers"),
        ({"users": (-1,)}, "users must be 'all' or different numbers"),
        ({"round": 0}, "round"),
        ({"classes": 3}, "multibit has no setting 'classes'"),
        ({"surprise": 3}, "surprise"),
        ({"options": {"bits": 3}}, "multibit has no setting 'bits'"),
        ({"options": {"dims": 3}}, "options must not hold 'dims'"),
        ({"options": {"name": "x"}}, "options must not hold 'name'"),
        ({"users": (1 << 40,)}, "users must be 'all' or different numbers"),
    ],
)
def test_a_plan_that_cannot_be_served_is_refused_by_name(change, words):
    with pytest.raises(InputError) as error:
        Plan(**{**FEATURES, **change})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_bad_plan_from_the_network_is_refused():
    with pytest.raises(InputError, match="epsilon must be a positive finite number"):
        Plan.from_json(json.dumps({**FEATURES, "epsilon": -2}))
    with pytest.raises(InputError, match="cannot be served"):
        Plan.from_json("{")


def test_a_plan_is_frozen():
    plan = Plan(**FEATURES)
    with pytest.raises(ValueError, match="frozen"):
        plan.epsilon = 2.0


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


NORM = {"mechanism": "piecewise", "epsilon": 1.0, "dims": 1, "range": (0, 3), "of": "norm"}


def test_a_plan_for_norms_survives_json_and_the_usual_one_does_not_say_what_it_asks():
    plan = Plan(**NORM, users=(1, 2))
    assert Plan.from_json(plan.to_json()) == plan
    assert plan.subject == "features" and plan.claim == Claim(1.0)
    assert "of" not in json.loads(Plan(**FEATURES).to_json())


@pytest.mark.parametrize(
    "change",
    [
        {"dims": 2},
        {"mechanism": "krr", "dims": None, "range": None, "classes": 3},
        {"mechanism": "ppm", "levels": 3},
    ],
)
def test_a_norm_is_one_value_of_the_features(change):
    with pytest.raises(InputError, match="a norm is one value"):
        Plan(**{**NORM, **change})
    with pytest.raises(InputError, match="of: "):
        Plan(**{**NORM, "of": "sum"})


# Strictness


@together("field", ["epsilon", "delta", "dims", "sampled", "round", "classes", "levels"])
@together("value", ["1", True])
def test_a_number_is_neither_text_nor_true(field, value):
    with pytest.raises(InputError, match=f"{field}: "):
        Plan(**{**FEATURES, field: value})
    with pytest.raises(InputError, match=f"{field}: "):
        Plan.from_json(json.dumps({**FEATURES, field: value}))


@pytest.mark.parametrize(
    "change", [{"range": ("0", 1)}, {"range": (False, True)}, {"users": ("1",)}, {"users": (True,)}]
)
def test_neither_are_numbers_in_a_list(change):
    with pytest.raises(InputError, match=f"{next(iter(change))}"):
        Plan(**{**FEATURES, **change})


def test_a_count_is_no_fraction():
    with pytest.raises(InputError, match="dims: "):
        Plan(**{**FEATURES, "dims": 8.0})


def test_numbers_of_numpy_are_numbers():
    given = {"epsilon": np.float32(0.5), "dims": np.int64(8), "range": (np.float64(0), np.int32(1))}
    plan = Plan(mechanism="multibit", **given)
    assert plan == Plan(mechanism="multibit", epsilon=0.5, dims=8, range=(0, 1))
    assert (type(plan.epsilon), type(plan.dims)) == (float, int)


def test_a_copy_with_other_fields_is_checked_like_any_plan():
    plan = Plan(**FEATURES)
    assert plan.model_copy(update={"epsilon": 2.0}).claim == Claim(2.0)
    for change in ({"epsilon": -1.0}, {"epsilon": "2"}, {"surprise": 1}, {"options": {"dims": 1}}):
        with pytest.raises(InputError, match="cannot be served"):
            plan.model_copy(update=change)


def test_a_plan_cannot_be_constructed_unchecked():
    assert Plan.model_construct(**FEATURES) == Plan(**FEATURES)
    with pytest.raises(InputError, match="epsilon must be a positive finite number"):
        Plan.model_construct(**{**FEATURES, "epsilon": -1.0})


def test_a_plan_that_was_tampered_with_is_seen_when_it_is_checked_anew():
    plan = Plan(**FEATURES)
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


def test_nobody_else_holds_a_part_of_the_options():
    pool = [1, 3]
    options = {"pool": pool, "from_pool": 0.5}
    plan = Plan(**TARGETED, options=options)
    pool.append(5)
    options["from_pool"] = 0.9
    assert plan.options == {"pool": [1, 3], "from_pool": 0.5}


@pytest.mark.parametrize("wrong", [{1, 3}, {"a": 1}, object(), [[[[[1]]]]]])
def test_other_options_are_refused(wrong):
    with pytest.raises(InputError, match="options must be numbers, words or lists"):
        Plan(**TARGETED, options={"pool": wrong})


def test_a_mechanism_is_built_once_for_equal_plans_and_anew_for_others():
    assert Plan(**FEATURES).build() is Plan(**FEATURES, round=2, users=(1,)).build()
    assert Plan(**FEATURES).build() is not Plan(**{**FEATURES, "epsilon": 1.5}).build()


def test_options_that_changed_after_all_build_another_mechanism():
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

CLASS = {
    "mechanism": "krr",
    "epsilon": 2.0,
    "of": "class",
    "classes": 2,
    "dims": 3,
    "range": (0, 1),
    "users": (7, 3, 5),
    "model": {"kind": "linear", "weights": [[3, -1, 0], [0, 2, 1], [-2, 0, 4]], "bias": [1, 0, -1]},
    "lists": [[2, 0], [1, 2], [0, 1]],
    "offsets": [[0, 1], [0, -4], [9, 0]],
}


def test_a_plan_for_a_class_is_one_about_features_whatever_answers_it():
    plan = Plan(**CLASS)
    assert (plan.subject, plan.claim) == ("features", Claim(2.0))
    assert plan.build().epsilon == Plan(mechanism="krr", epsilon=2.0, classes=2).build().epsilon
    assert Plan(mechanism="krr", epsilon=2.0, classes=2).subject == "label"


def test_a_plan_for_a_class_survives_json():
    for plan in (Plan(**CLASS), Plan(**{**CLASS, "offsets": None})):
        assert Plan.from_json(plan.to_json()) == plan
        assert Plan.from_json(plan.to_json()).build() is plan.build()
    assert not {"model", "lists", "offsets"} & set(json.loads(Plan(**FEATURES).to_json()))


@together(
    ("change", "words"),
    [
        ({"model": None}, "needs model, lists, classes, dims, range: model is missing"),
        ({"lists": None}, "needs model, lists, classes, dims, range: lists is missing"),
        ({"range": None}, "needs model, lists, classes, dims, range: range is missing"),
        ({"dims": None}, "needs model, lists, classes, dims, range: dims is missing"),
        ({"classes": None}, "needs model, lists, classes, dims, range: classes is missing"),
        ({"dims": 4}, "the model takes rows of 3 values, dims is 4"),
        ({"classes": 3}, "lists must have 3 classes a user"),
        ({"classes": 1, "lists": [[0], [1], [2]], "offsets": None}, "symbols must be an integer from 2"),
        ({"users": "all"}, "must name its users, and have a list for each: it asks all users with 3 lists"),
        ({"users": (7, 3)}, "must name its users, and have a list for each: it asks 2 users with 3 lists"),
        ({"lists": [[2, 0], [1, 3], [0, 1]]}, "lists must hold classes of the model"),
        ({"lists": [[2, 0], [1, 1], [0, 1]]}, "must not name a class twice"),
        ({"lists": [[2, 0], [1, True], [0, 1]]}, "lists: lists must be lists"),
        ({"offsets": [[0, 1]]}, "offsets must be (3, 2) integers"),
        ({"offsets": [[0, 1 << 52], [0, 0], [0, 0]]}, "offsets must lie within"),
        ({"mechanism": "multibit"}, "a class is answered like a label, by krr: multibit cannot"),
        ({"sampled": 1}, "takes no sampled"),
        ({"levels": 2}, "takes no levels"),
        ({"delta": 1e-5}, "takes no delta"),
        ({"range": (1, 0)}, "range must be two finite numbers LOW < HIGH"),
        ({"of": "values"}, "model and lists and offsets belong to a question for a class"),
        ({"options": {"model": 1}}, "krr has no setting 'model'"),
        ({"model": {"kind": "linear"}}, "model: a linear model needs"),
    ],
)
def test_a_class_is_asked_with_all_that_it_needs_and_nothing_else(change, words):
    with pytest.raises(InputError) as error:
        Plan(**{**CLASS, **change})
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_label_is_asked_without_a_model():
    for name in ("model", "lists", "offsets"):
        with pytest.raises(InputError, match=f"{name} belong to a question for a class"):
            Plan(mechanism="krr", epsilon=1.0, classes=2, **{name: CLASS[name]})


def test_a_part_goes_to_its_user_alone():
    part = Plan(**CLASS).part([3])
    told = json.loads(part.to_json())
    assert (told["users"], told["lists"], told["offsets"]) == ([3], [[1, 2]], [[0, -4]])
    assert part.model == Plan(**CLASS).model
    assert [each.users for each in Plan(**CLASS).parts()] == [(7,), (3,), (5,)]
    assert list(Plan(**CLASS).parts())[1] == part
    assert part.build().fingerprint != Plan(**CLASS).build().fingerprint


def test_a_part_has_users_of_the_whole_in_its_own_order():
    part = Plan(**CLASS).part([5, 7])
    assert (part.users, part.lists.tolist()) == ((5, 7), [[0, 1], [2, 0]])
    with pytest.raises(InputError, match="the plan does not ask user 4"):
        Plan(**CLASS).part([4])


def test_other_plans_have_parts_too():
    assert Plan(**FEATURES).part([2, 1]).users == (2, 1)
    assert Plan(**FEATURES, users=(4, 2)).part([2]).users == (2,)
    with pytest.raises(InputError, match="asks 'all' users: name them"):
        next(Plan(**FEATURES).parts())


def test_a_plan_for_a_class_that_was_tampered_with_is_seen_when_it_is_checked_anew():
    plan, other = Plan(**CLASS), Plan(**{**CLASS, "lists": [[2, 0], [1, 2], [2, 1]]})
    vars(plan)["lists"] = [[2, 0], [1, 9], [0, 1]]
    with pytest.raises(InputError, match="lists must hold classes of the model"):
        Plan.checked(plan)
    vars(plan)["lists"] = other.lists
    assert Plan.checked(plan).build() is other.build()


def test_a_plan_for_very_many_users_is_made_checked_and_read_in_seconds():
    users, few = 40_000, np.random.default_rng(0)
    lists = np.argsort(few.random((users, 9)), axis=1)[:, :5]
    whole = {
        "users": tuple(range(users)),
        "classes": 5,
        "lists": lists,
        "offsets": few.integers(-99, 99, lists.shape),
    }
    whole["model"] = {"kind": "linear", "weights": few.integers(-99, 99, (9, 1000)), "bias": [0] * 9}
    plan = Plan(**{**CLASS, **whole, "dims": 1000})
    for _ in range(5):
        plan = Plan.checked(plan)
    assert Plan.from_json(plan.to_json()).build() is plan.build()


def test_a_field_named_like_the_plan_itself_is_refused_like_any():
    with pytest.raises(InputError, match="self"):
        Plan.from_json('{"mechanism": "krr", "epsilon": 1, "classes": 3, "self": 1}')
