import numpy as np
import pytest
from scipy.sparse import csr_array

from graphveil.errors import BudgetError, InputError
from graphveil.experiments.attribute_study import ask_first_round, rank_attributes, tie_seeds
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.measures import find_measure
from graphveil.learn.attributes import raw_estimate
from graphveil.methods import feature_plan
from graphveil.methods.scoring import attribute_scores
from tests.refusals import check_refused

SMALL = {"data.users": 400, "data.features": 24, "data.labelled": 0.2, "data.validated": 0.2}
TOWN = Experiment.of("togl", "town", epsilon=4.0, runs=2, settings=SMALL)


@pytest.mark.parametrize(("whole", "spent"), [(True, 4.0), (False, 1.2)])
def test_only_the_first_round_is_declared_asked_and_charged(whole, spent):
    spec = TOWN.having(settings={**SMALL, "split": 0.3})
    answered = ask_first_round(spec, "method", 0, whole)
    assert len(answered.ready.ledger.charges) == 1
    assert answered.privacy["features"]["epsilon"] == answered.privacy["total"]["epsilon"] == spent
    with pytest.raises(BudgetError):
        answered.job.users.report(feature_plan(answered.job, 0.1))


def test_private_labels_are_asked_and_charged_besides():
    answered = ask_first_round(TOWN.having(label_epsilon=1.0), "method", 0, True)
    assert [charge.subject for charge in answered.ready.ledger.charges] == ["label", "features"]
    assert answered.privacy["total"]["epsilon"] == 5.0
    assert answered.job.label_mechanism is not None
    assert (answered.job.graph.labels[answered.job.graph.test] == -1).all()


def test_users_with_levels_pay_the_own_level_once():
    answered = ask_first_round(TOWN.having(mechanism="ppm", levels=2), "method", 0, True)
    assert answered.privacy["features"]["per_level"] == [4.0, 8.0]
    assert answered.scores.shape == (24,)


def test_the_control_knows_nothing_of_features():
    other = TOWN.having(settings={**SMALL, "data.often": 0.5})
    blind = [rank_attributes(spec, part="control", whole=True).scores for spec in (TOWN, other)]
    told = [rank_attributes(spec, whole=True).scores for spec in (TOWN, other)]
    assert np.array_equal(*blind)
    assert not np.array_equal(*told)


def test_a_ranking_can_be_repeated_and_depends_on_the_seed():
    first, again, later = (rank_attributes(TOWN.having(seed=seed)) for seed in (0, 0, 1))
    assert np.array_equal(first.scores, again.scores)
    assert np.array_equal(first.scores[1], later.scores[0])
    assert [a.tolist() for a in first.tops] == [b.tolist() for b in again.tops]
    # Ties of a run are its own.
    assert tie_seeds(TOWN.having(seed=3), "control") == ((3, 1), (4, 1))
    # Measures read a ranking.
    assert find_measure("jaccard").apart(TOWN).parts["method"].mean == first.jaccard
    assert find_measure("degree_correlation").apart(TOWN).parts["method"].mean == first.degree_correlation


def test_raw_features_score_alike_dense_and_sparse():
    answered = ask_first_round(TOWN, "method", 0, True)
    rows = answered.ready.users.raw.features
    dense, sparse = raw_estimate(rows, 0.5), raw_estimate(csr_array(rows), 0.5)
    filled = raw_estimate(csr_array(rows), 0.5, sparse=False)
    assert np.array_equal(dense.dense(), rows) and np.array_equal(sparse.dense(), rows)
    assert dense.values.tolist() == filled.values.tolist()
    scores = [attribute_scores(answered.job, answered.topology, each) for each in (dense, sparse)]
    assert scores[0] == pytest.approx(scores[1], rel=1e-3)
    reported = attribute_scores(answered.job, answered.topology, answered.reports.estimate())
    assert not np.allclose(scores[0], reported)


NOT_RANKED = [
    (Experiment.of("base", "town", epsilon=1.0), 5, "base has not: take togl"),
    (TOWN.having(link_epsilon=1.0), 5, "leave link_epsilon out"),
    (TOWN, 0, "top must be an integer of at least 1"),
    (TOWN, 25, "top must be from 1 to 24"),
    (TOWN.having(mechanism="laplace"), 5, "togl needs a mechanism that asks for some of the values"),
    (TOWN.having(epsilon=None), 5, "needs a budget"),
]


def test_what_cannot_be_ranked_is_refused():
    check_refused(lambda spec, top: rank_attributes(spec, top=top), NOT_RANKED)
    with pytest.raises(InputError, match="at least two"):
        _ = rank_attributes(TOWN.having(runs=1)).jaccard
