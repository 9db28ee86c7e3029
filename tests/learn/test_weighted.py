"""Weights of links: the proximal step, every backbone on them, and learning them with a GCN."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from graphveil.learn import BACKBONES, GCN, build_backbone
from graphveil.learn.targets import Targets
from graphveil.learn.topology import Topology, WeightedTopology
from graphveil.learn.training import (
    LinkObjective,
    Schedule,
    finish,
    fit,
    fitting_with_links,
    weight_gradient,
)
from graphveil.linear.pairs import PairPattern
from tests.learn.graphs import small_graph, targets_of
from tests.together import each

GRAPH, ROWS, _ = small_graph()
INPUTS = torch.from_numpy(ROWS)
PATTERN = PairPattern(GRAPH.pairs(), GRAPH.node_count)
ONES = torch.ones(PATTERN.size)
TARGETS = targets_of(GRAPH)


def test_weights_of_one_are_the_graph_itself_for_every_backbone():
    plain, weighted = Topology(GRAPH), WeightedTopology(PATTERN, ONES)

    def check(name):
        torch.manual_seed(0)
        model = build_backbone(name, ROWS.shape[1], 8, 3).eval()
        assert torch.allclose(model(INPUTS, plain), model(INPUTS, weighted), atol=1e-5)

    each(BACKBONES, check)


def test_attention_leaves_out_links_without_a_weight():
    weights = ONES.clone()
    weights[0] = 0
    edges = WeightedTopology(PATTERN, weights).looped_edges
    assert edges.shape[1] == 2 * (PATTERN.size - 1) + GRAPH.node_count


def test_weights_rest_where_their_cost_is_lowest_and_a_step_stays_within_0_and_1():
    objective = LinkObjective(torch.tensor([0.05, 0.5, 1.0]), pull=2.0, shrink=0.4, rate=0.1)
    assert objective.rest().tolist() == pytest.approx([0.0, 0.4, 0.9])
    assert torch.allclose(objective.step(objective.rest(), torch.zeros(3)), objective.rest())
    assert LinkObjective(torch.tensor([0.3]), 0.0, 0.4).rest().tolist() == pytest.approx([0.3])
    objective = LinkObjective(torch.tensor([0.5, 0.5]), pull=1.0, shrink=0.0, rate=0.1)
    assert objective.step(torch.tensor([0.5, 0.5]), torch.tensor([100.0, -100.0])).tolist() == [0.0, 1.0]


def test_a_small_step_against_the_gradient_lowers_the_loss():
    torch.manual_seed(1)
    model = GCN(ROWS.shape[1], 8, 3).eval()
    before = torch.full((PATTERN.size,), 0.5)
    gradient = weight_gradient(model, INPUTS, PATTERN, before, TARGETS)

    def loss(weights):
        with torch.no_grad():
            return float(TARGETS.train_loss(model(INPUTS, WeightedTopology(PATTERN, weights))))

    assert loss(before - 0.001 * gradient) < loss(before) < loss(before + 0.001 * gradient)


def test_without_steps_of_the_weights_it_is_plain_training():
    def model():
        torch.manual_seed(2)
        return GCN(ROWS.shape[1], 8, 3)

    start, schedule = WeightedTopology(PATTERN, ONES), Schedule(epochs=12)
    plain = fit(model(), INPUTS, start, TARGETS, schedule)
    objective = LinkObjective(ONES, 1.0, 0.0, rate=0.0, every=2)
    steps = fitting_with_links(model(), lambda _: INPUTS, start, TARGETS, objective, schedule)
    joint = finish(steps)
    assert torch.equal(plain.scores, joint.scores)
    assert torch.equal(joint.link_weights, ONES)


def test_a_link_between_classes_loses_weight_against_one_within():
    """Two groups of ten, linked within as much as across; learning tells the links of training users apart."""

    labels = np.repeat([0, 1], 10)
    pairs = np.array([(a, b) for a in range(20) for b in range(a) if (a + b) % 3 == 0])
    pattern = PairPattern(pairs, 20)
    start = torch.full((len(pairs),), 0.5)
    train = torch.ones(20, dtype=torch.bool)
    targets = Targets(torch.from_numpy(labels), train, train)
    torch.manual_seed(0)
    steps = fitting_with_links(
        GCN(20, 8, 2, dropout=0.0),
        lambda _: torch.eye(20),
        WeightedTopology(pattern, start),
        targets,
        LinkObjective(start, 0.01, 0.0, rate=0.5, every=1),
        Schedule(epochs=60),
    )
    weights = finish(steps).link_weights
    within = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    assert float(weights[within].mean()) > float(weights[~within].mean()) + 0.1
