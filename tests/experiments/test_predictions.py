"""Predictions: what they hold, how sure they are, what they cost, and which run they are of."""

from collections import Counter

import numpy as np
import pytest

import graphveil as gv
from graphveil.errors import InputError
from graphveil.experiments import Experiment, predict_experiment, run_experiment
from graphveil.experiments.artefacts import calibrated_rows, parts_of_split
from graphveil.experiments.unit import predicted_classes
from graphveil.methods.tasks import Outcome
from graphveil.privacy.record import Cost
from tests.refusals import check_refused

SMALL = {"users": 200, "features": 16, "telling": 4, "labelled": 0.2, "validated": 0.2}
SPEC = Experiment.of("base", "town", epsilon=2.0, seed=3, settings={"epochs": 3}, data_options=SMALL)


@pytest.fixture(scope="module")
def found():
    return predict_experiment(SPEC)


def outcome(scores):
    return Outcome(np.array(scores, dtype=np.float32), 0.0, 0.0, {})


def path_graph(labels, validated):
    """A path of users, of whom two train and some validate; whoever has a label besides tests."""
    users = len(labels)
    masks = np.zeros((3, users), dtype=bool)
    masks[0, :2], masks[1, 2 : 2 + validated], masks[2, 2 + validated :] = True, True, True
    masks &= labels >= 0
    split = gv.graphs.splits.GivenSplit(*masks)
    edges = np.stack([np.arange(users - 1), np.arange(1, users)], axis=1)
    return gv.from_arrays(edges, None, labels, split=gv.graphs.splits.recipe_of("given", split))[0]


def test_every_user_has_a_class_a_probability_and_a_part(found):
    assert (len(found), found.classes.shape, found.probabilities.shape) == (200, (200,), (200, 4))
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1, rtol=1e-6)
    assert np.array_equal(found.classes, found.probabilities.argmax(axis=1))
    assert np.array_equal(found.probability, found.probabilities.max(axis=1))
    assert Counter(found.parts.tolist()) == {"train": 40, "validation": 40, "test": 120}
    # They say what they cost and how well they do.
    assert found.privacy.features == Cost(epsilon=2.0)
    assert "publish no predictions of real people" in found.statement
    assert (found.seed, found.tested, found.metric) == (3, 120, "accuracy")
    assert repr(found) == (
        f"Predictions(base on town, seed 3: 200 users, 4 classes, accuracy {100 * found.score:.1f}% on 120 test users)"
    )


def test_they_are_those_of_the_run_with_that_seed(found):
    spec = SPEC.having(seed=2, runs=2, control=False)
    assert run_experiment(spec).scores()[1] == found.score
    assert np.array_equal(predict_experiment(spec, run=1).probabilities, found.probabilities)


def test_one_temperature_makes_them_as_sure_as_they_are_right():
    # All are nine times as sure as not, and right in three of four cases.
    labels = np.array([0, 1] + [0, 0, 0, 1] * 50 + [0])
    graph = path_graph(labels, 200)
    rows, told = calibrated_rows(outcome([[np.log(9), 0.0]] * 203), graph, private_labels=False)
    assert rows[-1, 0] == pytest.approx(0.75, abs=0.01)
    assert told.startswith("calibrated by one temperature (") and told.endswith(" on 200 validation users")
    # Where labels are private nothing is calibrated.
    graph = path_graph(np.array([0, 1, 1, 1, 0]), 2)
    rows, told = calibrated_rows(outcome([[np.log(9), 0.0]] * 5), graph, private_labels=True)
    np.testing.assert_allclose(rows, [[0.9, 0.1]] * 5, rtol=1e-6)
    assert told.startswith("not calibrated, as labels are private")


def test_several_labels_are_predicted_each_by_itself():
    several, _ = gv.load("town-labels", users=200)
    assert predicted_classes(outcome([[0.5, -0.5], [1.0, 2.0]]), several).tolist() == [[1, 0], [1, 1]]
    found = gv.predict("base", "town-labels", epsilon=2.0, settings={"epochs": 2, "data.users": 200})
    assert found.several and set(np.unique(found.classes)) <= {0, 1}
    assert {"label0", "p0"} <= set(found.columns()) and "class" not in found.columns()
    with pytest.raises(InputError, match="several labels each"):
        _ = found.probability


def test_ids_stand_beside_numbers():
    random = np.random.default_rng(0)
    names = [f"u{number}" for number in range(60)]
    edges, rows, labels = random.integers(0, 60, (120, 2)), random.random((60, 8)), random.integers(0, 2, 60)
    graph, users = gv.from_arrays(edges, rows, labels, range=(0, 1), ids=names)
    found = gv.predict("base", graph, users, epsilon=1.0, settings={"epochs": 2})
    columns = found.columns()
    # Who is in no part is told.
    graph = path_graph(np.array([0, 1, 1, 0, -1]), 1)
    assert parts_of_split(graph).tolist() == ["train", "train", "validation", "test", "none"]
    assert list(columns)[:5] == ["user", "id", "part", "class", "probability"]
    assert columns["id"].tolist() == names


def test_what_has_no_meaning_for_predictions_is_refused():
    wrong = [
        ({"task": "link"}, "predictions are classes, and the task link has none"),
        ({"runs": 1}, "leave runs out"),
        ({"control": 1}, "leave control out"),
    ]
    check_refused(lambda more: gv.predict("base", "town", epsilon=1.0, **more), wrong)
