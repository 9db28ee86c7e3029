"""Mechanisms from files and packages."""

import re

import pytest

import graphveil as gv
from graphveil.errors import InputError, PrivacyError
from graphveil.graphs import load
from graphveil.mechanisms.registry import entry, load_entry, names, origin
from tests.packages import install
from tests.refusals import check_refused

pytestmark = pytest.mark.usefixtures("forget_outside")

CODE = """
import graphveil as gv
from graphveil.channels import onebit

def build(epsilon, dims, range, sampled=None):
    "One bit of some values."
    return gv.mechanism("multibit", epsilon=epsilon, dims=dims, range=range, sampled=sampled)

def label(epsilon, classes):
    return gv.mechanism("krr", epsilon=epsilon, classes=classes)

def channel(epsilon, dims, range):
    return onebit(epsilon)

def other(epsilon, dims, range):
    return label(epsilon, 3)

def no_budget(dims):
    return None

ready = label(1.0, 3)
number = 3
gv.feature_family("bits-of-a-test", onebit, "registered by its file", grid=False)
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(CODE)
    return path


def test_a_function_becomes_a_mechanism_that_plans_can_name(file):
    found = load_entry(f"{file}:build")
    assert (found.subject, found.summary, found.sound) == ("features", "One bit of some values.", True)
    plan = gv.Plan(mechanism=f"{file}:build", epsilon=1.0, dims=8, range=(0, 1), sampled=2)
    assert plan.claim.epsilon == 1.0 and plan.build().shape.length == 2
    assert load_entry(f"{file}:label").subject == "label"
    assert load_entry(f"{file}:bits-of-a-test").summary == "registered by its file"
    assert origin("bits-of-a-test").words == "the file mine.py"


def test_the_library_s_own_have_no_origin():
    assert [name for name in names() if origin(name) is not None] == []


def test_a_plan_runs_no_file(file):
    file.write_text("raise AssertionError('it was run')")
    with pytest.raises(InputError, match="no mechanism is named"):
        gv.Plan(mechanism=f"{file}:build", epsilon=1.0, dims=8, range=(0, 1))


def test_a_plan_imports_no_package(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"graphveil.mechanisms": {"own": "build"}}, "raise AssertionError\n")
    with pytest.raises(InputError, match="no mechanism is named 'own'"):
        gv.Plan(mechanism="own", epsilon=1.0, dims=8, range=(0, 1))


def test_one_of_a_package_is_loaded_by_its_name(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, {"graphveil.mechanisms": {"own": "build"}}, CODE)
    load_entry("own")
    assert entry("own").name == "own" and origin("own").words == "the package of-a-test 1.5"


def test_users_do_not_answer_one_that_was_loaded_after_they_declared(file):
    graph, users = load("town", users=400)
    asked = users.declare(1.0, seed=0)
    load_entry(f"{file}:build")
    plan = gv.Plan(mechanism=f"{file}:build", epsilon=1.0, dims=graph.feature_count, range=(0, 1))
    with pytest.raises(PrivacyError, match="first, before users declare their budget"):
        asked.report(plan)


def test_what_builds_no_mechanism_is_refused(file):
    check_refused(
        lambda name: load_entry(f"{file}:{name}"),
        [
            ("number", re.compile("must be a name that is registered there or a function .*, got int")),
            ("no_budget", "got one that takes dims"),
            ("ready", "is built already"),
            ("nope", "has no 'nope': it has bits-of-a-test, build, label, channel, other, no_budget"),
        ],
    )


@pytest.mark.parametrize(("name", "kind"), [("channel", "Channel"), ("other", "LabelMechanism")])
def test_a_function_that_builds_something_else_is_refused_when_it_does(file, name, kind):
    load_entry(f"{file}:{name}")
    with pytest.raises(InputError, match=f"must build a mechanism for features, it returns {kind}"):
        gv.mechanism(f"{file}:{name}", epsilon=1.0, dims=8, range=(0, 1))


def test_a_name_that_no_plan_can_hold_is_refused(tmp_path):
    folder = tmp_path / ("x" * 200)
    folder.mkdir()
    (folder / f"{'y' * 60}.py").write_text(CODE)
    with pytest.raises(InputError, match="at most 256 characters"):
        load_entry(f"{folder}/{'y' * 60}.py:build")
