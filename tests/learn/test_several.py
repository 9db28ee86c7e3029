"""Classes and a number at once: the two losses by hand, and a model that learns both."""

import pytest
import torch
from torch.nn import functional

from graphveil.learn import Schedule, Targets, Topology, build_backbone, fit
from graphveil.learn.inputs import raw_input
from graphveil.learn.several import SeveralTargets
from tests.learn.graphs import small_graph


@pytest.fixture
def known():
    return known_of(60)


def known_of(users):
    graph, rows, _ = small_graph(users)
    classes = Targets(*(torch.tensor(array) for array in (graph.labels, graph.train, graph.validation)))
    reported = torch.where(torch.tensor(graph.test), torch.nan, torch.tensor(rows[:, 0] * 2 - 1))
    return graph, rows, classes, reported


def test_the_losses_by_hand(known):
    _, _, classes, reported = known
    scores = torch.randn(60, 4)
    targets = SeveralTargets(classes, reported, 0.3)
    for who, loss, alone in (
        (classes.train, targets.train_loss, classes.train_loss),
        (classes.validation, targets.validation_loss, classes.validation_loss),
    ):
        error = ((scores[who, 3] - reported[who]) ** 2).mean()
        torch.testing.assert_close(loss(scores), alone(scores[:, :3]) + 0.3 * error)


def test_the_score_is_that_of_the_classes(known):
    _, _, classes, reported = known
    scores = torch.randn(60, 3)
    high = torch.full((60, 1), 99.0)
    targets = SeveralTargets(classes, reported)
    assert targets.validation_score(torch.cat([scores, high], 1)) == classes.validation_score(scores)


def test_a_weight_of_nothing_leaves_the_number_alone(known):
    _, _, classes, reported = known
    scores = torch.randn(60, 4, requires_grad=True)
    SeveralTargets(classes, reported, 0.0).train_loss(scores).backward()
    assert (scores.grad[:, 3] == 0).all() and scores.grad[:, :3].abs().sum() > 0


def test_a_model_learns_the_number_from_training_users():
    graph, rows, classes, reported = known_of(600)
    torch.manual_seed(0)
    model = build_backbone("mlp", rows.shape[1], 16, 4, activation="relu", dropout=0.0)
    targets = SeveralTargets(classes, reported, 10.0)
    fitted = fit(model, raw_input(rows), Topology(graph), targets, Schedule(epochs=150, weight_decay=0.0))
    test = torch.tensor(graph.test)
    truth = torch.tensor(rows[:, 0] * 2 - 1)[test]
    assert functional.mse_loss(fitted.scores[test, 3], truth) < 0.5 * truth.var()
