"""A collection publishes what comes with the package, and other mechanisms where their plan's audit held."""

import sys
from dataclasses import replace

import pytest

from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.cli import status
from graphveil.errors import InputError
from graphveil.mechanisms import entry, names, registry, unregister
from graphveil.mechanisms.registry import load_entry
from graphveil.privacy import Plan
from tests.collect.small import DIMS, PLAN, RANGE, enrolled, later, made

FILE = """
from graphveil.channels import Claim, onebit
from graphveil.mechanisms import FeatureMechanism, PublicRange, register


@register("mine")
def build(epsilon, dims, range):
    return FeatureMechanism("mine", Claim(epsilon), PublicRange.of(range), dims, dims, (onebit(epsilon / dims),), 1.0)
"""
HELD = Audit("mine", StatedPrivacy(1.0), StatedPrivacy(1.0), [], [])


@pytest.fixture
def collection(tmp_path):
    opened = made(tmp_path / "c")
    enrolled(opened)
    yield opened
    opened.database.close()


@pytest.fixture
def source(tmp_path):
    """A file that registers a mechanism."""
    file = tmp_path / "own.py"
    file.write_text(FILE)
    load_entry(f"{file}:mine")
    yield file
    for name in [name for name in names() if name == "mine" or str(file) in name]:
        unregister(name)


def _plan(**other):
    return Plan(**{"mechanism": "mine", "epsilon": 1.0, "dims": DIMS, "range": RANGE, **other})


def test_another_mechanism_is_refused_with_what_to_run(collection, source):
    with pytest.raises(
        InputError, match="does not come with graphveil, and this plan was not audited"
    ) as refused:
        collection.publish(_plan(), later())
    told = str(refused.value)
    (written,) = (collection.folder / "plans").iterdir()
    assert f"graphveil audit FILE.py:mine --plan {written} --collection {collection.folder}" in told
    assert Plan.from_json(written.read_text()) == _plan()
    assert collection.rounds() == []


def test_it_is_published_once_its_plan_was_audited_and_no_other_plan(collection, source):
    collection.keep_audit(_plan(), HELD)
    assert collection.publish(_plan(), later()).number == 1
    with pytest.raises(InputError, match="was not audited"):
        collection.publish(_plan(epsilon=0.5), later())


def test_an_audit_of_other_code_does_not_count(collection, source):
    collection.keep_audit(_plan(), HELD)
    source.write_text(FILE.replace("epsilon / dims", "epsilon / dims / 2"))
    load_entry(f"{source}:mine")
    with pytest.raises(InputError, match="was not audited"):
        collection.publish(_plan(), later())


@pytest.mark.parametrize("leaks", [["it leaks"], []], ids=["leaking", "unfinished"])
def test_an_audit_that_did_not_hold_is_not_kept(collection, source, leaks, monkeypatch):
    monkeypatch.setattr(Audit, "finished", bool(leaks))
    found = Audit("mine", StatedPrivacy(1.0), StatedPrivacy(1.0), [], leaks)
    with pytest.raises(InputError, match="the audit of mine did not hold"):
        collection.keep_audit(_plan(), found)


def test_a_mechanism_of_the_package_is_published_without_an_audit_and_one_that_takes_its_name_is_not(
    collection, monkeypatch
):
    assert collection.publish(PLAN, later()).number == 1
    own = entry("multibit")
    changed = replace(own, build=lambda **settings: own.build(**settings))
    monkeypatch.setitem(registry._entries._items, "multibit", changed)
    with pytest.raises(InputError, match="does not come with graphveil"):
        collection.publish(PLAN.model_copy(update={"round": 2}), later())


def test_a_path_names_nothing_on_other_machines(collection, source):
    load_entry(f"{source}:build")
    with pytest.raises(InputError, match="is a path on this machine"):
        collection.publish(_plan(mechanism=f"{source}:build"), later())


def test_the_command_keeps_an_audit_that_held(collection, source, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys.modules["graphveil.cli.audit"], "audit_mechanism", lambda *_, **__: HELD)
    file = tmp_path / "plan.json"
    file.write_text(_plan().to_json())
    asked = ["audit", f"{source}:mine", "--plan", str(file), "--collection", str(collection.folder)]
    assert status([*asked, "--quick"]) == 2
    assert "full audit" in capsys.readouterr().err
    assert status(asked) == 0
    assert collection.publish(_plan(), later()).number == 1


def test_the_command_runs_no_code_that_only_a_plan_names(tmp_path, capsys):
    file = tmp_path / "plan.json"
    file.write_text(_plan_text(f"{tmp_path}/own.py:build"))
    (tmp_path / "own.py").write_text("raise SystemExit('run')")
    assert status(["audit", "--plan", str(file)]) == 2
    assert "no mechanism is named" in capsys.readouterr().err
    assert status(["audit", "krr", "--plan", str(file)]) == 2


def _plan_text(name):
    return f'{{"mechanism": "{name}", "epsilon": 1.0, "dims": {DIMS}, "range": [0, 1]}}'
