import numpy as np
import pytest
import torch

from graphveil.learn import MultilabelTargets, Schedule, Topology, build_backbone, fit
from graphveil.learn.inputs import raw_input
from tests.learn.graphs import small_graph

LABELS = torch.tensor([[1, 0], [0, 1], [1, 1], [-1, -1]])
TRAIN = torch.tensor([True, True, False, False])
VALIDATION = torch.tensor([False, False, True, False])
SCORES = torch.tensor([[2.0, -1.0], [0.5, 0.0], [3.0, -0.1], [9.0, 9.0]])


def targets(validation=VALIDATION):
    return MultilabelTargets(LABELS, TRAIN, validation)


def cross_entropy(score, label):
    chance = 1 / (1 + np.exp(-score))
    return -np.log(chance if label else 1 - chance)


def test_losses_are_the_binary_cross_entropy_of_all_labels_by_hand():
    pairs = [(2.0, 1), (-1.0, 0), (0.5, 0), (0.0, 1)]
    expected = np.mean([cross_entropy(*pair) for pair in pairs])
    assert float(targets().train_loss(SCORES)) == pytest.approx(expected, rel=1e-6)
    expected = (cross_entropy(3.0, 1) + cross_entropy(-0.1, 1)) / 2
    assert float(targets().validation_loss(SCORES)) == pytest.approx(expected, rel=1e-6)
    # Probabilities of labels do not add up to one.
    assert targets().probabilities(torch.zeros(1, 2)).tolist() == [[0.5, 0.5]]


def test_the_validation_score_is_the_micro_f1_of_users_whose_labels_are_known():
    # One of two labels found, none wrong: 2·1 / (2·1 + 0 + 1).
    assert targets().validation_score(SCORES) == pytest.approx(2 / 3)
    # A score of 0 is no prediction: hits (0, 0); wrong (1, 0); missed (1, 1).
    assert targets(TRAIN).validation_score(SCORES) == pytest.approx(2 / 4)
    other = SCORES.clone()
    other[3] = -100.0
    known = targets()
    assert known.train_loss(other) == known.train_loss(SCORES)
    assert known.validation_loss(other) == known.validation_loss(SCORES)
    assert known.validation_score(other) == known.validation_score(SCORES)


def test_a_model_learns_several_labels_at_once():
    graph, rows, _ = small_graph(600)
    labels = torch.tensor(rows[:, :3]).long()
    known = MultilabelTargets(labels, torch.tensor(graph.train), torch.tensor(graph.validation))
    torch.manual_seed(0)
    model = build_backbone("mlp", rows.shape[1], 16, 3, activation="relu", dropout=0.0)
    fitted = fit(model, raw_input(rows), Topology(graph), known, Schedule(epochs=100, weight_decay=0.0))
    test = torch.tensor(graph.test)
    assert ((fitted.scores > 0) == (labels > 0))[test].float().mean() > 0.98
    assert fitted.validation_score > 0.95
