"""Training labels as input: a user's own label never enters the input on which that user is trained."""

import numpy as np
import pytest
import torch

from graphveil.graphs.part import Group
from graphveil.learn import Schedule, Topology
from graphveil.learn.label_models import (
    LABEL_SCALE,
    MASKS,
    LabelNetwork,
    draw_mask,
    masked_inputs,
    training_labels,
    without_hidden,
)
from graphveil.learn.label_models import fit_masked as fit_on
from graphveil.learn.topology import dropout
from tests.collectives import parted
from tests.learn.graphs import as_graph, small_graph, targets_of


def mask(labels, train, share):
    """Hide a share of the training users: the labels that are left, and who is hidden."""
    hidden, _ = draw_mask(None, Group.alone(train.numpy()), share)
    return without_hidden(labels, hidden, share, len(train)), hidden


def network_of(graph, seed=0, **options):
    torch.manual_seed(seed)
    return LabelNetwork(graph.node_count, graph.class_count, **options)


def fit_masked(model, topology, targets, schedule, masked=0.5, progress=None):
    """Masks that are drawn for this network alone."""
    inputs = masked_inputs(model, topology, targets, masked)
    return fit_on(model, topology, targets, schedule, inputs, progress)


def alone(users=40, classes=3):
    """Users who know nobody: the only label that could reach one is one's own."""
    split, _, _ = small_graph(users=users)
    labels = np.random.default_rng(1).integers(0, classes, users)
    return as_graph(np.zeros((0, 2), dtype=int), labels, 1, split)


def test_the_inputs_are_the_labels_after_each_hop_with_no_more_masks_than_asked_for(monkeypatch):
    graph, _, _ = small_graph()
    labels, topology = training_labels(targets_of(graph), graph.class_count), Topology(graph)
    inputs = network_of(graph, hops=2).inputs(labels, topology)
    dense = topology.gcn.to_dense()
    assert torch.allclose(inputs[:, 0], torch.log1p(torch.tensor(graph.degrees, dtype=torch.float32)))
    assert torch.allclose(inputs[:, 1:4], LABEL_SCALE * (dense @ labels), atol=1e-5)
    assert torch.allclose(inputs[:, 4:], LABEL_SCALE * (dense @ dense @ labels), atol=1e-5)
    given = network_of(graph), Topology(graph), targets_of(graph)
    assert len(masked_inputs(*given, masks=5).masks) == 5
    monkeypatch.setattr("graphveil.learn.label_models.MOST_NUMBERS", 1)
    assert len(masked_inputs(*given).masks) == 2


@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_hidden_labels_are_gone_and_the_others_are_scaled_up(share):
    labels, train = torch.eye(3)[[0, 1, 2, 0, 1]], torch.tensor([0, 1, 2, 3])
    labels[4] = 0
    left, hidden = mask(labels, train, share)
    assert 1 <= len(hidden) <= 3
    assert not left[hidden].any()
    assert float(left.sum()) == pytest.approx(4.0)
    assert float(labels.sum()) == 4.0
    # A single one is hidden.
    left, hidden = mask(torch.tensor([[0.0, 1.0], [0.0, 0.0]]), torch.tensor([0]), 0.5)
    assert hidden.tolist() == [0]
    assert not left.any()


def test_no_user_s_own_label_enters_the_input_on_which_they_are_trained():
    graph = alone()
    model, seen = network_of(graph), []
    model.register_forward_pre_hook(lambda module, given: seen.append((module.training, given[0])))
    fit_masked(model, Topology(graph), targets_of(graph), Schedule(epochs=20))
    trained = [inputs for training, inputs in seen if training]
    assert len(trained) == 20
    assert not any(inputs[:, 1:].any() for inputs in trained)
    # In the end all training labels are input: the planted label would be seen.
    assert seen[-1][1][:, 1:].any() and not seen[-1][0]


@pytest.mark.parametrize("masked", [0.2, 0.5])
def test_masked_rows_are_the_labels_of_the_others_after_each_hop(masked):
    graph, _, _ = small_graph()
    targets, topology, model = targets_of(graph), Topology(graph), network_of(graph, hops=3)
    torch.manual_seed(5)
    found = masked_inputs(model, topology, targets, masked)
    torch.manual_seed(5)
    labels, train = training_labels(targets, graph.class_count), targets.train.nonzero().ravel()
    assert len(found.masks) == MASKS
    assert torch.allclose(found.everything, model.inputs(labels, topology))
    for hidden, rows, _ in found.masks:
        left, expected = mask(labels, train, masked)
        assert torch.equal(hidden, expected)
        # One mask at a time, where several spread side by side.
        assert torch.allclose(rows, model.inputs(left, topology)[expected], atol=1e-5)


def test_a_network_with_ids_goes_on_where_the_other_ended():
    graph, _, _ = small_graph()
    first, second = network_of(graph), network_of(graph, seed=1, ids=True)
    second.go_on_from(first)
    rows = torch.randn(4, 1 + 6 * graph.class_count)
    nothing = torch.zeros(4, 1)
    assert torch.equal(first.eval()(rows, nothing), second.eval()(rows, nothing))
    with torch.no_grad():
        second.read.weight += 1
    assert not torch.equal(first.read.weight, second.read.weight)


def test_the_model_is_left_at_its_best():
    graph, _, _ = small_graph()
    model, targets, topology = network_of(graph, ids=True), targets_of(graph), Topology(graph)
    fitted = fit_masked(model, topology, targets, Schedule(epochs=30, lr=0.3))
    everything = model.inputs(training_labels(targets, graph.class_count), topology)
    scores = model.eval()(everything, model.near_ids(topology)).detach()
    assert torch.allclose(scores, fitted.scores)
    assert float(targets.validation_loss(scores)) == pytest.approx(fitted.validation_loss, abs=1e-5)


@pytest.mark.statistical
def test_own_labels_that_come_back_from_neighbours_are_not_learned():
    # Pairs of friends with labels at random: only a copy of one's own label could predict it.
    random = np.random.default_rng(0)
    split, _, _ = small_graph(users=400)
    graph = as_graph(np.arange(400).reshape(-1, 2), random.integers(0, 2, 400), 1, split)
    model = network_of(graph)
    fit_masked(model, Topology(graph), targets_of(graph), Schedule(epochs=150))
    labels = training_labels(targets_of(graph), 2)
    left, hidden = mask(labels, torch.tensor(graph.train).nonzero().ravel(), 0.5)
    scores = model.eval()(model.inputs(left, Topology(graph)), model.near_ids(Topology(graph)))
    right = scores[hidden].argmax(1) == torch.tensor(graph.labels)[hidden]
    # 100 coin flips: more than 75 right has a chance below one in a million.
    assert len(hidden) == 100
    assert float(right.float().mean()) <= 0.75


def test_ids_reach_as_far_as_three_hops():
    split, _, labels = small_graph(users=8, edges=0)
    graph = as_graph([[user, user + 1] for user in range(7)], labels, 1, split)
    model = network_of(graph, ids=True)
    before = model.near_ids(Topology(graph)).detach()
    with torch.no_grad():
        model.ids[0] += 1
    moved = (model.near_ids(Topology(graph)) - before).abs().sum(1) > 1e-6
    assert moved.tolist() == [True] * 4 + [False] * 4


@pytest.mark.parametrize("ids", [False, True])
def test_the_same_seed_gives_the_same_scores(ids):
    graph, _, _ = small_graph()
    first, again = (
        fit_masked(network_of(graph, ids=ids), Topology(graph), targets_of(graph), Schedule(epochs=10)).scores
        for _ in range(2)
    )
    assert torch.equal(first, again)


def test_patience_stops_early():
    graph, counts = alone(), []
    fitted = fit_masked(
        network_of(graph),
        Topology(graph),
        targets_of(graph),
        Schedule(epochs=500, patience=5),
        progress=lambda done, most, loss: counts.append(done),
    )
    assert counts[-1] == fitted.epoch + 6 < 500


def test_workers_hide_whom_one_process_hides_and_drop_what_it_drops():
    graph, _, _ = small_graph(users=90)
    train = np.flatnonzero(graph.train)
    torch.manual_seed(3)
    hidden, nothing = draw_mask(graph, Group.alone(train), 0.4)
    assert nothing is None
    values = torch.randn(len(hidden), 8)
    torch.manual_seed(4)
    dropped = dropout(values, 0.5, True)

    def work(part):
        return part, Group.of(part, part.train)

    seen = []
    # One after the other: all draw from one generator.
    for part, group in parted(graph, 3, work):
        torch.manual_seed(3)
        own, among = draw_mask(part, group, 0.4)
        numbers = part.original[own.numpy()]
        rows = torch.tensor([hidden.tolist().index(number) for number in numbers], dtype=torch.long)
        torch.manual_seed(4)
        assert torch.equal(dropout(values[rows], 0.5, True, among), dropped[rows])
        seen += numbers.tolist()
    assert sorted(seen) == sorted(hidden.tolist())
