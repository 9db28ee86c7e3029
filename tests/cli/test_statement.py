"""graphveil statement: a page from plans or from a collection, and exit statuses."""

from __future__ import annotations

from importlib import import_module

import pytest

from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.privacy import Plan
from tests.collect.small import PLAN, enrolled, later, made


@pytest.fixture
def plan(tmp_path):
    file = tmp_path / "plan.json"
    file.write_text(Plan(mechanism="onebit", epsilon=1.0, dims=1, range=(0, 1)).to_json())
    return file


@pytest.fixture
def glance(monkeypatch):
    """An audit that takes no time: a claim holds if the mechanism says so."""

    def audit(plan, *, quick, random_bits):
        claim = StatedPrivacy(plan.claim.epsilon)
        return Audit(plan.mechanism, claim, claim, [], [] if plan.build().holds else ["It leaks."])

    # The package has the command under the name of its module.
    monkeypatch.setattr(import_module("graphveil.cli.statement"), "audit_mechanism", audit)


def test_a_page_is_written_from_plans(plan, tmp_path, call, glance):
    page = tmp_path / "statement.html"
    told = call(f"statement {plan} --html {page} --seed 0 --json").json
    assert told["holds"] and told["questions"][0]["name"] == "plan.json"
    assert told["questions"][0]["digest"] in page.read_text()


def test_a_page_is_written_from_a_collection(tmp_path, call, glance):
    collection = made(tmp_path / "survey")
    enrolled(collection)
    collection.publish(PLAN, later())
    page = tmp_path / "statement.html"
    arguments = ["statement", "--collection", str(tmp_path / "survey"), "--html", str(page), "--seed", "0"]
    assert "Users were asked to report features at ε = 1" in call(arguments).out
    assert "12 of 12 people have enrolled" in page.read_text()


def test_a_claim_that_does_not_hold_is_exit_status_1(tmp_path, glance, call):
    bad = Plan(
        mechanism="ppm-printed", epsilon=1.0, dims=3, range=(0, 1), options={"budgets": [1.0, 2.0]}
    ).to_json()
    file, page = tmp_path / "bad.json", tmp_path / "bad.html"
    file.write_text(bad)
    call(f"statement {file} --html {page} --seed 0", ends=1)
    assert "do not collect" in page.read_text()


MISTAKES = [
    ("--html a.html", "give plans, or a collection"),
    ("a.json --collection b --html a.html", "one of the two"),
    ("a.json", "name the page to write with --html"),
    ("a.json --html a.txt", "a.txt has the unsupported format .txt: use .html with --html"),
    ("there-is-none.json --html a.html", "cannot be read"),
    ("--collection there-is-none --html a.html", "holds no collection"),
]


def test_mistakes_are_exit_status_2(refuses, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses(MISTAKES, "statement")


def test_a_plan_about_links_says_what_holds_against_a_lying_server(tmp_path, capsys, call, glance):
    (tmp_path / "links.json").write_text(Plan(mechanism="dprr", epsilon=2.0, dims=30).to_json())
    page = tmp_path / "statement.html"
    call(f"statement {tmp_path / 'links.json'} --html {page} --seed 0")
    said = "at most ε = 4 if it lies about them, because both ends may answer then. Beyond that the server needs no trust."
    assert said in " ".join(capsys.readouterr().out.split()) and said in page.read_text()
