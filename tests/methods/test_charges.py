"""What each registered method charges, user by user, against the budgets that were given.

Books are opened by hand with just these budgets, and what must stand in them is written down here: no plan, claim or question of
a method is asked for it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from graphveil.errors import BudgetError
from graphveil.methods import METHODS
from graphveil.methods.check import Trial, run, small_data

# What make_job gives for features; the other budgets are given here.
FEATURES, LABEL, LINK, NORM = 1.0, 2.5, 4.5, 3.5
# Each level has twice the budget of the one below it.
BY_LEVEL = (1.0, 2.0, 4.0, 8.0)


@dataclass(frozen=True)
class Asked:
    """What a method asks for: with a budget for features, with one that users choose by level, for links, for norms; whether it
    predicts links."""

    features: bool = True
    levels: bool = False
    links: bool = False
    norms: bool = True
    predicts_links: bool = True


ASKED = {
    "nonprivate": Asked(features=False, norms=False),
    "structure": Asked(features=False, norms=False),
    "base": Asked(),
    "lpgnn": Asked(),
    "ldpge": Asked(),
    "ldpge-raw": Asked(features=False, norms=False),
    "upgnet": Asked(),
    "ppgnn": Asked(levels=True),
    "solitude": Asked(links=True),
    "togl": Asked(links=True),
    "heterorr": Asked(links=True),
    # Some teach and the others are asked for a class: everybody spends the budget, once.
    "veil": Asked(links=True, norms=False, predicts_links=False),
}
TRIALS = {
    "classes": Trial(),
    "labels": Trial(label_epsilon=LABEL),
    "links": Trial(link_epsilon=LINK),
    "links and labels": Trial(link_epsilon=LINK, label_epsilon=LABEL),
    "norms": Trial(norm_epsilon=NORM),
    "norms and labels": Trial(norm_epsilon=NORM, label_epsilon=LABEL),
    "predicted links": Trial(task="link"),
}


def test_every_registered_method_has_a_reference():
    assert set(ASKED) == set(METHODS.own()), "ASKED must say what each registered method asks for"


def applies(asked: Asked, trial: Trial) -> bool:
    """Whether a method can spend all budgets of a trial."""
    possible = asked.predicts_links or trial.task == "node"
    return (
        possible
        and (trial.link_epsilon is None or asked.links)
        and (trial.norm_epsilon is None or asked.norms)
    )


CASES = [
    pytest.param(name, title, id=f"{name}: {title}")
    for name, asked in ASKED.items()
    for title, trial in TRIALS.items()
    if applies(asked, trial)
]


@pytest.mark.parametrize(("name", "title"), CASES)
def test_every_user_spends_what_was_given_for_what_is_asked_of_them(name, title):
    """A method runs on books that hold just the budgets given; each subject costs what was given for it, too."""
    asked, trial = ASKED[name], TRIALS[title]
    graph, users = small_data(task=trial.task)
    label, links, norm = trial.label_epsilon or 0.0, trial.link_epsilon or 0.0, trial.norm_epsilon or 0.0
    if asked.levels:
        ledger = users.open_ledger(label + links + norm, by_level=BY_LEVEL)
    else:
        ledger = users.open_ledger(label + links + norm + FEATURES * asked.features)
    run(METHODS.find(name), graph, users.answering(ledger, seed=3), trial, users)
    strongest = BY_LEVEL[-1] if asked.levels else FEATURES
    given = {"features": strongest * asked.features + norm, "label": label, "links": links, "level": 0.0}
    spent = {subject: ledger.total(subject).epsilon for subject in given}
    wrong = [each for each in given if spent[each] != pytest.approx(given[each], rel=1e-12)]
    # Labels and norms are asked of those whose label is learned from, everything else of everybody.
    expected = np.full(graph.node_count, links) + (label + norm) * (graph.train | graph.validation)
    if asked.features:
        expected += np.array(BY_LEVEL)[users.raw.levels - 1] if asked.levels else FEATURES
    if not np.allclose(ledger.spent, expected, rtol=1e-12, atol=0):
        wrong.append("each user")
    if ledger.spent_delta.any():
        wrong.append("delta")
    assert not wrong, (wrong, spent, given, ledger.spent, expected)


@pytest.mark.parametrize("name", [name for name, asked in ASKED.items() if asked.features])
def test_a_budget_that_is_a_little_smaller_does_not_do(name):
    graph, users = small_data()
    smaller = tuple(0.999 * budget for budget in BY_LEVEL)
    if ASKED[name].levels:
        ledger = users.open_ledger(0.0, by_level=smaller)
    else:
        ledger = users.open_ledger(0.999 * FEATURES)
    with pytest.raises(BudgetError):
        run(METHODS.find(name), graph, users.answering(ledger, seed=3), Trial(), users)
