import pytest

from graphveil.audit.candidate import CLASSES, DIMS, MAX_REPORTS, Candidate, report_count
from graphveil.errors import InputError, UnknownNameError
from graphveil.mechanisms import mechanism
from graphveil.privacy.plan import Plan


def test_a_name_is_built_with_what_an_audit_asks_for():
    built = Candidate.of("multibit", 2.0).build()
    assert (built.dimensions, built.claim.epsilon) == (DIMS, 2.0)
    assert Candidate.of("multibit").build().claim.epsilon == 1.0


def test_dims_of_a_label_are_its_classes():
    assert Candidate.of("krr", dims=11).build().dimensions == 11
    assert Candidate.of("krr").build().dimensions == CLASSES


def test_a_function_gets_the_settings_that_it_has():
    seen = {}

    def build(epsilon, dims=5, range=(0, 2)):
        seen.update(epsilon=epsilon, dims=dims, range=range)
        return mechanism("onebit", epsilon=epsilon, dims=dims, range=range)

    Candidate.of(build, 3.0).build()
    assert seen == {"epsilon": 3.0, "dims": DIMS, "range": (0.0, 1.0)}


def test_a_built_mechanism_is_taken_as_it_is():
    built = mechanism("krr", epsilon=1.0, classes=3)
    assert Candidate.of(built).build() is built
    with pytest.raises(InputError, match="leave them out"):
        Candidate.of(built, 2.0)


@pytest.mark.parametrize("epsilon", [0, -1, float("nan"), float("inf"), "1", True])
def test_a_bad_budget_is_refused(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        Candidate.of("multibit", epsilon)


def test_smaller_versions_keep_epsilon_and_are_enumerable():
    small = list(Candidate.of("piecewise", 1.0, dims=500, sampled=4).smaller())
    assert small
    assert all(one.claim.epsilon == 1.0 and report_count(one) <= MAX_REPORTS for one in small)
    assert (small[0].dimensions, small[0].report_length) == (3, 2)


def test_mechanisms_that_answer_all_values_still_do_when_smaller():
    assert all(one.dimensions == one.report_length for one in Candidate.of("onebit", 1.0).smaller())


def test_report_count_of_a_long_report_does_not_overflow():
    assert report_count(mechanism("onebit", epsilon=1.0, dims=5000, range=(0, 1))) > MAX_REPORTS


def _needy(epsilon, secret):
    raise AssertionError


def _wrong(epsilon):
    return 3


def _failing(epsilon):
    return 1 / 0


@pytest.mark.parametrize(
    ("what", "settings", "words"),
    [
        (_needy, {}, "_needy needs secret, which an audit does not know"),
        (_wrong, {}, "_wrong must build a Mechanism, it returns int"),
        (_failing, {}, "_failing cannot be built: ZeroDivisionError"),
        (_failing, {"dims": 3}, "leave dims out"),
        ("krr", {"dims": 3, "sampled": 2}, "krr has no setting 'sampled'"),
        ("multibit", {"dims": 3, "sampled": 4}, "sampled must be an integer from 1 to 3"),
        ("multibit", {"dims": 0}, "dims must be an integer of at least 1"),
        (3, {}, "a mechanism, its registered name or a function that builds it is audited, got int"),
    ],
)
def test_mistakes_are_named(what, settings, words):
    with pytest.raises(InputError, match=words):
        Candidate.of(what, **settings).build()


def test_an_unknown_name_is_refused():
    with pytest.raises(UnknownNameError, match="choose one of"):
        Candidate.of("nope")


def test_a_plan_is_built_as_it_says_and_smaller_with_its_options():
    plan = Plan(
        mechanism="multibit",
        epsilon=1.0,
        dims=30,
        range=(-2, 2),
        sampled=4,
        options={"pool": [3, 20, 25], "from_pool": 2.0},
    )
    candidate = Candidate.of(plan)
    assert candidate.build().fingerprint == plan.build().fingerprint
    small = next(candidate.smaller())
    assert small.claim.epsilon == 1.0
    assert small.public == plan.build().public
    assert small.asking.pool


def test_other_sizes_and_options_are_tried():
    titles = [title for title, _ in Candidate.of("multibit", 1.0).variants()]
    assert {"3 of 17 values", "binary values", "a pool of values", "40 values"} <= set(titles)


def class_plan():
    return Plan(
        mechanism="krr",
        epsilon=1.0,
        of="class",
        classes=3,
        dims=6,
        range=(0, 2),
        users=(3, 1),
        model={"kind": "linear", "weights": [[1] * 6] * 5, "bias": [0, 1, 2, 3, 4]},
        lists=[[4, 2, 0], [1, 2, 3]],
        offsets=[[1, 2, 3], [0, 0, 0]],
    )


@pytest.mark.parametrize("of", [lambda plan: plan, lambda plan: plan.build()], ids=["plan", "built"])
def test_a_class_is_asked_as_of_the_first_user_and_of_everybody(of):
    candidate = Candidate.of(of(class_plan()))
    assert candidate.build().fingerprint == class_plan().part([3]).build().fingerprint
    assert candidate.asked.fingerprint == class_plan().build().fingerprint
    assert (candidate.name, candidate.epsilon, list(candidate.variants())) == ("krr", 1.0, [])


def test_a_smaller_question_for_a_class_reaches_every_place_by_the_same_channel():
    small = next(Candidate.of(class_plan()).smaller())
    assert small.row_length == 3 and small.answers == class_plan().build().answers
    assert small.places_of([[2, 0, 0], [0, 2, 0], [0, 0, 2]]).tolist() == [0, 1, 2]
