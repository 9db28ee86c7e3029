from dataclasses import replace

import numpy as np
import pytest

from graphveil.errors import InputError, PrivacyError, UnknownNameError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, open_unit
from graphveil.graphs.convert import from_arrays
from graphveil.learn import BACKBONES
from graphveil.methods import BACKBONE_NAMES, METHODS, Job, Settings, feature_plan
from graphveil.methods.base import BaseSettings
from graphveil.privacy import Nobody

ROWS = np.eye(8)


def tiny(features=ROWS, **options):
    edges = np.array([[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [6, 7]])
    return from_arrays(edges, features, [0, 0, 0, 0, 1, 1, 1, 1], seed=0, **{"range": (0, 1), **options})


def job_of(graph, users, **options):
    return Job.of(graph, users, BaseSettings.of({"epochs": 2}), seed=0, **{"epsilon": 1.0, **options})


def test_the_names_of_backbones_are_those_that_there_are():
    assert set(BACKBONE_NAMES) == set(BACKBONES)


def test_a_feature_plan_uses_the_graph_s_public_range():
    graph, users = tiny(range=(-1, 3))
    plan = feature_plan(job_of(graph, users))
    assert (plan.dims, plan.range, plan.epsilon, plan.mechanism) == (8, (-1.0, 3.0), 1.0, "multibit")


def test_binary_features_are_asked_as_binary_where_the_mechanism_can():
    graph, users = tiny(binary=True)
    assert feature_plan(job_of(graph, users)).binary is True
    item = feature_plan(job_of(graph, users, mechanism="item", mechanism_options={"length": 3}))
    assert item.binary is None


def test_how_many_values_are_sampled_can_be_set():
    graph, users = tiny()
    job = job_of(graph, users, mechanism_options={"sampled": 3})
    assert feature_plan(job).sampled == 3
    assert feature_plan(job, sampled=None).build().sampled == 3
    with pytest.raises(InputError, match="options must not hold 'dims'"):
        feature_plan(job_of(graph, users, mechanism_options={"dims": 3}))


def test_a_graph_without_features_is_refused():
    graph, users = tiny(features=None, range=None)
    with pytest.raises(InputError, match="has no features to report"):
        feature_plan(job_of(graph, users))


def test_settings_name_what_is_wrong():
    with pytest.raises(InputError, match="there is no setting 'speed' here: choose from epochs, lr"):
        Settings.of({"speed": 1})
    with pytest.raises(InputError, match="setting epochs: .*greater than or equal to 1, got 0"):
        Settings.of({"epochs": 0})


def test_unknown_and_repeated_names_are_refused():
    with pytest.raises(UnknownNameError, match="no method is named 'nobody': choose one of"):
        METHODS.find("nobody")
    with pytest.raises(InputError, match="registered already"):
        METHODS.add("base", METHODS.find("base"))


def test_raw_features_are_read_where_they_are_handed_over_by_name_and_nowhere_else():
    graph, users = tiny()
    with pytest.raises(InputError, match="learns from raw features, and these were not given"):
        METHODS.find("nonprivate").run(job_of(graph, users.declare(1.0)))
    METHODS.find("nonprivate").run(job_of(graph, Nobody(), raw=users.raw.rows()))


def test_before_anybody_has_declared_a_budget_nobody_answers():
    graph, _ = tiny()
    with pytest.raises(PrivacyError, match=r"nobody has declared a budget.*users\.declare"):
        METHODS.find("base").run(job_of(graph, Nobody()))


def test_the_books_of_a_method_hold_just_what_it_claims():
    graph, users = tiny()
    ledger = METHODS.find("base").questions(job_of(graph, Nobody(), label_epsilon=0.5)).open_ledger(users)
    labelled = graph.train | graph.validation
    assert labelled.any() and not labelled.all()
    assert ledger.budget.tolist() == [1.5 if asked else 1.0 for asked in labelled]
    assert ledger.charges == ()


def test_an_answer_beyond_the_declared_budget_is_refused():
    from graphveil.errors import BudgetError

    graph, users = tiny()
    with pytest.raises(BudgetError):
        METHODS.find("base").run(job_of(graph, users.declare(0.5, seed=0)))


class FirstAskedError(Exception):
    """Raised with the first question about features."""


class UntilFeatures:
    """Users who answer until they are asked about features."""

    def __init__(self, users):
        self._users = users

    def report(self, plan):
        if plan.subject == "features":
            raise FirstAskedError(plan)
        return self._users.report(plan)


FORETOLD = [name for name in METHODS.own() if METHODS.find(name).can.first_round_known]


def test_some_methods_foretell_their_first_question():
    assert {"base", "togl"} <= set(FORETOLD) and "veil" not in FORETOLD


@pytest.mark.parametrize("name", FORETOLD)
def test_a_first_question_that_is_foretold_is_the_one_that_is_asked(name):
    options = {"data_options": {"users": 200}, "label_epsilon": 1.0}
    ready = open_unit(RunUnit(Experiment.of(name, "town", epsilon=1.0, **options)))
    with pytest.raises(FirstAskedError) as asked:
        ready.method.run(replace(ready.job, users=UntilFeatures(ready.job.users)))
    assert asked.value.args[0] == ready.job.questions.features[0]
