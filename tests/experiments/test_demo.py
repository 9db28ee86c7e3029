"""The demonstration's table, figure and sentence, from results that are made up."""

from dataclasses import replace

import pytest

from graphveil.audit import audit
from graphveil.experiments.demo import HEAD, SMALL, Demo
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.result import Result
from graphveil.privacy.record import Privacy
from tests.experiments.known import result_of

NOTHING = "No budget here clearly buys anything over asking nobody"


def result(name, epsilon, **scores):
    options = {} if epsilon is None else {"epsilon": epsilon, "mechanism": "multibit"}
    return result_of(Experiment.of(name, "town", runs=2, **options), **scores)


@pytest.fixture
def demo():
    return made_up()


def made_up():
    structure, blind = [0.70, 0.72], [0.70, 0.72]
    return Demo(
        veil=(
            result("veil", 1.0, method=[0.70, 0.73], control=blind, structure=structure),
            result("veil", 4.0, method=[0.90, 0.92], control=blind, structure=structure),
        ),
        base=(
            result("base", 1.0, method=[0.6, 0.62], control=[0.6, 0.6], structure=structure),
            result("base", 4.0, method=[0.65, 0.67], control=[0.6, 0.6], structure=structure),
        ),
        plain=result("nonprivate", None, method=[1.0, 1.0]),
    )


def test_the_table_has_a_line_a_method_and_budget_the_largest_first(demo):
    by_line = {row[:2]: dict(zip(HEAD, row, strict=True)) for row in demo.rows()}
    private = [(f"ε = {epsilon}", name) for epsilon in (4, 1) for name in ("veil", "base")]
    assert list(by_line) == [("none", "nonprivate"), *private, ("-", "structure")]
    assert len(demo.rows()) == len(by_line)
    # Gains over structure are paired with its runs.
    assert by_line["ε = 4", "veil"]["over structure"] == "+20.0 ± 0.0"
    assert by_line["ε = 4", "base"]["over structure"] == "-5.0 ± 0.0"
    assert by_line["ε = 4", "base"]["gain"].startswith("+6.0")


def test_the_headline_is_about_the_smallest_budget_that_clearly_bought_something(demo):
    assert demo.headline() == (
        "One randomized report from each user (ε = 4) lets the server tell the kind of 91.0 in 100 users, instead of 71.0 when it asks nobody."
    )
    assert Demo(demo.veil[:1], demo.base).headline().startswith(NOTHING)
    assert Demo(demo.veil[:1], demo.base).difference() == ""
    one_run = result("veil", 4.0, method=[0.9], structure=[0.7])
    assert Demo((one_run,)).headline().startswith(NOTHING)


def test_the_difference_has_its_interval_and_what_base_gives(demo):
    said = demo.difference()
    assert said.startswith(
        "That is +20.0 ± 0.0 points (mean and 95% interval of 2 runs), with the method veil;"
    )
    assert said.endswith("(base), it is 66.0, less than asking nobody.")
    # It does not say less where base has more.
    better = result("base", 4.0, method=[0.80, 0.82], control=[0.6, 0.6])
    said = Demo(demo.veil, (better,), demo.plain).difference()
    assert "less than" not in said
    assert said.endswith("(base), it is 81.0.")


def test_a_terminal_has_a_line_a_budget(demo):
    assert len(SMALL) == len(demo.small_rows()[0])
    assert [row[0] for row in demo.small_rows()] == ["ε = 1", "ε = 4"]
    assert demo.small_rows()[1][3] == "+20.0 ± 0.0"
    assert Demo(demo.veil).small_rows()[1][4:] == ("-", "-")


def test_who_was_asked_what_is_read_off_the_privacy_record(demo):
    about = {"subject": "features", "epsilon": 4.0, "exact": 3.9, "mechanism": "krr"}
    rounds = [about | {"round": 1, "users": 1000}, about | {"round": 2, "users": 3000, "of": "class"}]
    first, last = demo.veil
    (unit, *others) = last.units
    unit = replace(unit, privacy=Privacy.model_validate({"rounds": rounds}))
    told = Result.from_units(last.experiment, (unit, *others))
    table = replace(demo, veil=(first, told)).asked_rows()
    asked = [("veil", "1,000"), ("veil", "3,000"), ("structure", "nobody"), ("nonprivate", "everybody")]
    assert [row[:2] for row in table] == asked
    assert "interests" in table[0][2] and "public model" in table[1][2]
    assert table[1][3] == "3.9"


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
        assert so_far.chart().svg().startswith("<svg")
        assert so_far.headline() in so_far.html()
