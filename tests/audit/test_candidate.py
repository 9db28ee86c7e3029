import sys

import numpy as np
import pytest

from graphveil.audit.candidate import (
    CLASSES,
    DIMS,
    MAX_REPORTS,
    Candidate,
    CheckedLoss,
    claims_independence,
    draws_by_reports,
    is_compared,
    is_foreign,
    load_mechanism,
    overridden,
    report_count,
    trust_findings,
    values_of,
    with_values,
)
from graphveil.audit.versions import variants
from graphveil.channels import Claim, onebit
from graphveil.errors import InputError, UnknownNameError
from graphveil.mechanisms import FeatureMechanism, LinkMechanism, PublicRange, mechanism, names, unregister
from graphveil.privacy.plan import Plan


def test_a_name_is_built_with_what_an_audit_asks_for():
    built = Candidate.of("multibit", 2.0).build()
    assert (built.shape.dimensions, built.claim.epsilon) == (DIMS, 2.0)
    assert Candidate.of("multibit").build().claim.epsilon == 1.0


def test_dims_of_a_label_are_its_classes():
    assert Candidate.of("krr", dims=11).build().shape.dimensions == 11
    assert Candidate.of("krr").build().shape.dimensions == CLASSES


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
    assert (small[0].shape.dimensions, small[0].shape.length) == (3, 2)


def test_mechanisms_that_answer_all_values_still_do_when_smaller():
    assert all(one.shape.dimensions == one.shape.length for one in Candidate.of("onebit", 1.0).smaller())


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
    titles = [version.title for version in variants(Candidate.of("multibit", 1.0))]
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
    assert (candidate.name, candidate.epsilon, list(variants(candidate))) == ("krr", 1.0, [])


def test_a_smaller_question_for_a_class_reaches_every_place_by_the_same_channel():
    small = next(Candidate.of(class_plan()).smaller())
    assert small.shape.row_length == 3 and small.answers == class_plan().build().answers
    assert small.places_of([[2, 0, 0], [0, 2, 0], [0, 0, 2]]).tolist() == [0, 1, 2]


GOOD = """
from dataclasses import dataclass
from graphveil.audit.versions import variants
from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, mechanism, register

@dataclass(frozen=True, eq=False, repr=False)
class Mine(FeatureMechanism):
    pass

def build(epsilon, dims, range):
    return Mine("mine", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0)

ready = mechanism("krr", epsilon=1.0, classes=3)
number = 3
register("loaded-by-a-test", summary="a test")(build)
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(GOOD)
    yield file
    if "loaded-by-a-test" in names():
        unregister("loaded-by-a-test")


def test_a_function_a_name_or_a_mechanism_is_found(path):
    assert callable(load_mechanism(f"{path}:build"))
    unregister("loaded-by-a-test")
    assert load_mechanism(f"{path}:loaded-by-a-test") == "loaded-by-a-test"
    unregister("loaded-by-a-test")
    assert load_mechanism(f"{path}:ready").name == "krr"


def test_what_the_file_has_is_named(path):
    with pytest.raises(InputError, match=r"has no 'nope': it has loaded-by-a-test, Mine, build"):
        load_mechanism(f"{path}:nope")


def test_what_builds_nothing_is_refused(path):
    with pytest.raises(InputError, match="'number' in .* is a int"):
        load_mechanism(f"{path}:number")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:", "SyntaxError"),
        ("import no_such_module", "ModuleNotFoundError"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_imported_says_why(tmp_path, text, words):
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(InputError, match=f"cannot be imported: {words}"):
        load_mechanism(f"{file}:f")


@pytest.mark.parametrize(
    ("reference", "words"),
    [("nowhere.py:f", "there is no file"), ("mine.py", "PATH.py:NAME"), ("mine.py:", "PATH.py:NAME")],
)
def test_a_reference_to_nothing_is_refused(reference, words):
    with pytest.raises(InputError, match=words):
        load_mechanism(reference)


def test_a_file_of_another_kind_is_refused(tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text(GOOD)
    with pytest.raises(InputError, match="is no Python file"):
        load_mechanism(f"{file}:build")


def test_a_file_may_import_what_lies_beside_it(tmp_path):
    (tmp_path / "beside_a_test.py").write_text("answer = 42\n")
    (tmp_path / "mine.py").write_text(
        "from beside_a_test import answer\n\ndef build(epsilon):\n    return answer\n"
    )
    assert load_mechanism(f"{tmp_path / 'mine.py'}:build")(1.0) == 42
    assert str(tmp_path) not in sys.path


class _Boasting(FeatureMechanism):
    @property
    def loss(self):
        return self.channels[0].loss

    @property
    def holds(self):
        return True

    def compares(self, one, other):
        return False


def _boasting(each=1.0):
    return _Boasting("boasting", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(each),), 1.0)


def test_the_packages_own_word_is_believed():
    item = mechanism("item", epsilon=1.0, dims=6, length=2)
    assert not overridden(item, "loss")
    assert CheckedLoss.of(item) == CheckedLoss(item.loss, item.delta, item.holds)
    assert trust_findings(item, enumerated=False) == ([], [])


def test_a_smaller_loss_needs_an_enumeration():
    assert CheckedLoss.of(_boasting()).needs_proof
    assert any("no enumeration shows" in leak for leak in trust_findings(_boasting(), enumerated=False)[1])
    assert trust_findings(_boasting(), enumerated=True)[1] == []


def test_holds_is_computed_again():
    class Sure(FeatureMechanism):
        holds = True

    built = Sure("sure", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(1.0),), 1.0)
    assert not CheckedLoss.of(built).holds


def test_pairs_are_compared_whatever_a_stranger_says():
    assert is_compared(_boasting(), np.zeros(3), np.ones(3))


def test_links_differ_in_one():
    links = mechanism("link-rr", epsilon=1.0, dims=3)
    assert is_compared(links, np.zeros(3), np.eye(3)[0])
    assert not is_compared(links, np.zeros(3), np.ones(3))


def test_the_control_of_levels_is_about_rows_of_one_level():
    control = mechanism("ppm", epsilon=1.0, dims=2, range=(0, 1)).blind()
    strict, other, loose = np.array([0, 0, 1.0]), np.array([1, 1, 1.0]), np.array([0, 0, 2.0])
    assert is_compared(control, strict, other) and not is_compared(control, strict, loose)


def test_a_curator_is_taken_on_trust():
    (told,), leaks = trust_findings(mechanism("lapgraph", epsilon=1.0, dims=3), enumerated=True)
    assert "the curator who adds the noise" in told and "must be trusted" in told and leaks == []


def test_without_a_curator_nobody_is():
    assert trust_findings(mechanism("link-rr", epsilon=1.0, dims=3), enumerated=True) == ([], [])


def test_that_answers_depend_on_each_other_is_believed_of_the_package_alone():
    class OutsideEvent(LinkMechanism):
        independent = False
        bits_by_reports = True

    channel = mechanism("link-rr", epsilon=1.0, dims=3).channel
    outside = OutsideEvent("outside", Claim(1.0), 3, channel)
    assert claims_independence(outside) and not draws_by_reports(outside)
    own = mechanism("dprr", epsilon=1.0, dims=3)
    assert not claims_independence(own) and draws_by_reports(own)


def test_what_is_set_on_an_object_alone_is_not_believed():
    boasting = _boasting()
    for name in ("compares", "independent", "bits_by_reports"):
        object.__setattr__(boasting, name, lambda *_: False)
    assert is_compared(boasting, np.zeros(3), np.ones(3))
    assert claims_independence(boasting) and not draws_by_reports(boasting)


def test_a_borrowed_name_is_not_believed():
    class Borrowed(_Boasting):
        __module__ = "graphveil.mechanisms.features"

    built = Borrowed("borrowed", Claim(1.0), PublicRange(0, 1), 3, 3, (onebit(1.0),), 1.0)
    assert overridden(built, "loss") and CheckedLoss.of(built).needs_proof


def test_a_method_that_was_put_in_place_is_not_believed(monkeypatch):
    item = mechanism("item", epsilon=1.0, dims=6, length=2)
    monkeypatch.setattr(type(item), "loss", onebit(1.0).blind().loss)
    assert overridden(item, "loss")


def test_values_are_exchanged_and_levels_stay():
    plain = mechanism("onebit", epsilon=1.0, dims=3, range=(0, 1))
    assert with_values(plain, np.zeros((2, 3)), np.ones((2, 3))).sum() == 6
    personal = mechanism("ppm", epsilon=1.0, dims=3, range=(0, 1))
    changed = with_values(personal, np.array([[0.0, 0.0, 0.0, 2.0]]), np.ones((1, 3)))
    assert changed.tolist() == [[1.0, 1.0, 1.0, 2.0]]
    assert values_of(personal, changed).tolist() == [[1.0, 1.0, 1.0]]


def test_what_is_foreign_is_told_by_builder_and_parts():
    candidate = Candidate.of("krr")
    assert not is_foreign(candidate, candidate.build())
    built = Candidate.of(mechanism("krr", epsilon=1.0, classes=3))
    assert not is_foreign(built, built.build())
    mine = Candidate.of(lambda epsilon, classes: mechanism("krr", epsilon=epsilon, classes=classes))
    assert is_foreign(mine, mine.build())
    assert is_foreign(Candidate.of(_boasting()), _boasting())
