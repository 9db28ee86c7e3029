"""Classes and a number at once: the two losses by hand, and a model that learns both."""

from dataclasses import replace

import torch
from torch.nn import functional

from graphveil.learn import Schedule, Topology, build_backbone, fit
from graphveil.learn.inputs import raw_input
from graphveil.learn.targets import SeveralTargets
from tests.learn.graphs import small_graph, targets_of


def known_of(users):
    graph, rows, _ = small_graph(users)
    classes = targets_of(graph)
    reported = torch.where(torch.tensor(graph.test), torch.nan, torch.tensor(rows[:, 0] * 2 - 1))
    return graph, rows, classes, reported


def test_the_losses_by_hand():
    _, _, classes, reported = known_of(60)
    scores = torch.randn(60, 4)
    targets = SeveralTargets(classes, reported, 0.3)
    error = ((scores[classes.train, 3] - reported[classes.train]) ** 2).mean()
    torch.testing.assert_close(targets.train_loss(scores), classes.train_loss(scores[:, :3]) + 0.3 * error)
    assert targets.validation_loss(scores) == classes.validation_loss(scores[:, :3])


def test_a_weight_of_nothing_leaves_the_number_alone_as_the_score_does():
    _, _, classes, reported = known_of(60)
    scores = torch.randn(60, 4, requires_grad=True)
    targets = SeveralTargets(classes, reported, 0.0)
    targets.train_loss(scores).backward()
    assert (scores.grad[:, 3] == 0).all() and scores.grad[:, :3].abs().sum() > 0
    high = torch.cat([scores[:, :3], torch.full((60, 1), 99.0)], 1)
    assert targets.validation_score(high) == classes.validation_score(scores[:, :3])


def test_a_model_learns_the_number_from_training_users():
    graph, rows, classes, reported = known_of(600)
    # Classes that can be learned too: where they cannot, an early epoch is the best for them.
    classes = replace(classes, labels=torch.tensor(rows[:, 1]).long())
    torch.manual_seed(0)
    model = build_backbone("mlp", rows.shape[1], 16, 4, activation="relu", dropout=0.0)
    targets = SeveralTargets(classes, reported, 10.0)
    fitted = fit(model, raw_input(rows), Topology(graph), targets, Schedule(epochs=150, weight_decay=0.0))
    test = torch.tensor(graph.test)
    truth = torch.tensor(rows[:, 0] * 2 - 1)[test]
    assert functional.mse_loss(fitted.scores[test, 3], truth) < 0.5 * truth.var()
