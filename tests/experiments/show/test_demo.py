"""The demonstration's table, figure and sentence, from results that are made up."""

from __future__ import annotations

import pytest

from graphveil.audit import audit
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.unit import UnitResult
from graphveil.experiments.show.demo import HEAD, Demo, drawing, headline, html, rows
from graphveil.experiments.specs.spec import Spec

SECONDS = {"report": 0.0, "denoise": 0.0, "train": 0.0}
NOTHING = "No budget here clearly buys anything over asking nobody"


def result(name, epsilon, **scores):
    """A result with the scores of its parts, one a run."""
    units = tuple(
        UnitResult(part, run, score, "", {}, SECONDS, 1.0)
        for part, each in scores.items()
        for run, score in enumerate(each)
    )
    options = {} if epsilon is None else {"epsilon": epsilon, "mechanism": "multibit"}
    return Result(Spec.of(name, "town", runs=2, **options), "accuracy", "1", units, 1.0)


@pytest.fixture
def demo():
    return made_up()


def made_up():
    structure, blind = [0.70, 0.72], [0.70, 0.72]
    return Demo(
        veil=(
            result("veil", 1.0, method=[0.70, 0.73], control=blind, structure=structure),
            result("veil", 4.0, method=[0.90, 0.92], control=blind),
        ),
        base=(
            result("base", 1.0, method=[0.6, 0.62], control=[0.6, 0.6]),
            result("base", 4.0, method=[0.65, 0.67], control=[0.6, 0.6]),
        ),
        plain=result("nonprivate", None, method=[1.0, 1.0]),
    )


def test_the_table_has_a_line_a_method_and_budget_the_largest_first(demo):
    table = rows(demo)
    assert [row[:2] for row in table] == [
        ("none", "nonprivate"),
        ("ε = 4", "veil"),
        ("ε = 4", "base"),
        ("ε = 1", "veil"),
        ("ε = 1", "base"),
        ("-", "structure"),
    ]
    assert all(len(row) == len(HEAD) for row in table)


def test_gains_over_structure_are_paired_with_those_runs_of_the_first_result(demo):
    by_line = {row[:2]: dict(zip(HEAD, row, strict=True)) for row in rows(demo)}
    assert by_line["ε = 4", "veil"]["over structure"] == "+20.0 ± 0.0"
    assert by_line["ε = 4", "base"]["over structure"] == "-5.0 ± 0.0"
    assert by_line["ε = 4", "base"]["gain"].startswith("+6.0")


def test_the_headline_is_about_the_smallest_budget_that_clearly_bought_something(demo):
    said = headline(demo)
    assert said.startswith("ε = 4 buys 20.0 ± 0.0 points: with veil 91.0 of 100 users")
    assert "71.0 where nobody is asked" in said
    assert said.endswith("asked for single interests (base) it gives 66.0, less than asking nobody.")


def test_the_headline_does_not_say_less_where_base_has_more(demo):
    better = result("base", 4.0, method=[0.80, 0.82], control=[0.6, 0.6])
    said = headline(Demo(demo.veil, (better,), demo.plain))
    assert "less than" not in said
    assert said.endswith("(base) it gives 81.0.")


def test_the_headline_says_where_nothing_was_bought(demo):
    assert headline(Demo(demo.veil[:1], demo.base)).startswith(NOTHING)
    one_run = result("veil", 4.0, method=[0.9], structure=[0.7])
    assert headline(Demo((one_run,))).startswith(NOTHING)


def test_the_exact_budget_of_veil_needs_the_audits_of_both_its_questions(demo):
    by_mechanism = {name: audit(name, epsilon=4.0, quick=True) for name in ("multibit", "krr")}
    one = Demo(demo.veil, demo.base, audits=(by_mechanism["multibit"],))
    both = Demo(demo.veil, demo.base, audits=tuple(by_mechanism.values()))
    assert one.exact(demo.base[1]) == "4 (exact, rounded up)"
    assert one.exact(demo.base[1]).digits.startswith("3.99999")
    assert one.exact(demo.veil[1]) == "-"
    assert both.exact(demo.veil[1]) == "4 (exact, rounded up)"
    assert both.exact(demo.veil[0]) == "-"


def test_figure_and_page_are_there_at_every_stage(demo):
    for so_far in (Demo(demo.veil[:1]), Demo(demo.veil, demo.base), demo):
        assert drawing(so_far).svg().startswith("<svg")
        assert headline(so_far) in html(so_far)
