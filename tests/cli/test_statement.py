"""graphveil statement: a page from plans or from a collection, and exit statuses."""

from importlib import import_module

import pytest

from graphveil.audit.examine import Audit, StatedPrivacy
from graphveil.privacy import Plan
from tests.collect.small import PLAN, enrolled, later, made


@pytest.fixture
def stated(tmp_path, call):
    """Writes a page about a plan, or about a collection: what was printed, and the page."""

    def stated(plan=None, more="", **ends):
        if plan is not None:
            (tmp_path / "plan.json").write_text(plan.to_json())
            more += f" {tmp_path / 'plan.json'}"
        page = tmp_path / "statement.html"
        return call(f"statement {more} --html {page} --seed 0", **ends), page.read_text()

    return stated


@pytest.fixture(autouse=True)
def glance(monkeypatch):
    """An audit that takes no time: a claim holds if the mechanism says so."""

    def audit(plan, *, quick, random_bits):
        claim = StatedPrivacy(plan.claim.epsilon)
        return Audit(plan.mechanism, claim, claim, [], [] if plan.build().holds else ["It leaks."])

    # The package has the command under the name of its module.
    monkeypatch.setattr(import_module("graphveil.cli.statement"), "audit_mechanism", audit)


def test_a_page_is_written_from_plans(stated):
    told, page = stated(Plan(mechanism="onebit", epsilon=1.0, dims=1, range=(0, 1)), "--json")
    assert told.json["holds"] and told.json["questions"][0]["name"] == "plan.json"
    assert told.json["questions"][0]["digest"] in page


def test_a_page_is_written_from_a_collection(tmp_path, stated):
    collection = made(tmp_path / "survey")
    enrolled(collection)
    collection.publish(PLAN, later())
    told, page = stated(more=f"--collection {tmp_path / 'survey'}")
    assert "Users were asked to report features at ε = 1" in told.out
    assert "12 of 12 people have enrolled" in page


def test_a_claim_that_does_not_hold_is_exit_status_1(stated):
    levels = {"dims": 3, "range": (0, 1), "options": {"budgets": [1.0, 2.0]}}
    _, page = stated(Plan(mechanism="ppm-printed", epsilon=1.0, **levels), ends=1)
    assert "do not collect" in page


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


def test_a_plan_about_links_says_what_holds_against_a_lying_server(stated):
    told, page = stated(Plan(mechanism="dprr", epsilon=2.0, dims=30))
    said = "at most ε = 4 if it lies about them, because both ends may answer then. Beyond that the server needs no trust."
    assert said in told.words and said in page
