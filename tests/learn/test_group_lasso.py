"""The group lasso on weights, against a logistic regression whose gradients and proximal steps are written down here."""

import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.learn import Backbone, Schedule, Topology, build_backbone, fit
from graphveil.learn.inputs import raw_input
from graphveil.learn.training import Adam, group_lasso
from tests.learn.graphs import small_graph, targets_of
from tests.together import each

TELLING, FEATURES, CLASSES = 3, 12, 3


def regression():
    """Users without links: three features tell the class, most of the time, and nine tell nothing. SGC is a logistic regression."""
    graph, rows, labels = small_graph(users=200, features=FEATURES, edges=1, isolated=198)
    graph = graph.with_edges(np.zeros((0, 2), dtype=int))
    rows[:, :TELLING] = np.eye(CLASSES)[labels]
    rng = np.random.default_rng(3)
    rows = rows + 0.8 * rng.standard_normal(rows.shape).astype(np.float32)
    torch.manual_seed(0)
    return graph, rows, build_backbone("sgc", FEATURES, 8, CLASSES)


def shares(rows, weights, bias):
    scores = rows @ weights.T + bias
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def gradient(rows, labels, weights, bias):
    """Of the mean cross-entropy, for weights (c x d) and bias."""
    wrong = (shares(rows, weights, bias) - np.eye(CLASSES)[labels]) / len(labels)
    return wrong.T @ rows, wrong.sum(axis=0)


def loss(rows, labels, weights, bias):
    return -np.log(shares(rows, weights, bias)[np.arange(len(labels)), labels]).mean()


def minimized(rows, labels, strength, steps=4000):
    """Proximal gradient descent: a group is a column, and shrinks as a whole."""
    weights, bias = np.zeros((CLASSES, FEATURES)), np.zeros(CLASSES)
    size = 2 / np.linalg.eigvalsh(rows.T @ rows / len(rows)).max()
    for _ in range(steps):
        down, across = gradient(rows, labels, weights, bias)
        weights, bias = weights - size * down, bias - size * across
        norms = np.linalg.norm(weights, axis=0)
        weights = weights * np.maximum(1 - size * strength / np.maximum(norms, 1e-300), 0)
    return weights, bias


def known(graph, rows):
    return rows[graph.train].astype(float), graph.labels[graph.train]


def strength_of(graph, rows, model, share):
    lin = model.conv1.lin
    down, _ = gradient(*known(graph, rows), lin.weight.detach().numpy(), lin.bias.detach().numpy())
    return share * np.linalg.norm(down, axis=0).max()


def test_the_penalty_is_a_share_of_the_largest_pull_times_the_norms_of_groups():
    graph, rows, model = regression()
    penalty = group_lasso(model, raw_input(rows), Topology(graph), targets_of(graph), 0.3)
    norms = np.linalg.norm(model.conv1.lin.weight.detach().numpy(), axis=0)
    expected = strength_of(graph, rows, model, 0.3) * norms.sum()
    assert float(penalty().detach()) == pytest.approx(expected, rel=1e-5)


def test_training_reaches_what_proximal_steps_reach():
    graph, rows, model = regression()
    topology, targets, inputs = Topology(graph), targets_of(graph), raw_input(rows)
    strength = strength_of(graph, rows, model, 0.3)
    penalty = group_lasso(model, inputs, topology, targets, 0.3)
    step = Adam(model, 2e-3, 0.0)
    for _ in range(2000):
        step(targets.train_loss(model(inputs, topology)) + penalty())
    weights, bias = minimized(*known(graph, rows), strength)
    lin = model.conv1.lin
    got = lin.weight.detach().numpy(), lin.bias.detach().numpy()
    reached, lowest = (
        loss(*known(graph, rows), one, two) + strength * np.linalg.norm(one, axis=0).sum()
        for one, two in (got, (weights, bias))
    )
    assert reached == pytest.approx(lowest, rel=2e-3)
    # Whole features are gone there, and nearly gone here.
    gone = np.linalg.norm(weights, axis=0) == 0
    assert 0 < gone.sum() <= FEATURES - TELLING and not gone[:TELLING].any()
    assert np.linalg.norm(got[0], axis=0)[gone].max() < 0.01
    np.testing.assert_allclose(got[0], weights, atol=0.02)


def test_fit_adds_it_to_the_loss():
    """With it, features that tell nothing end up with next to no weight."""
    ends = {}
    for share in (0.0, 0.3):
        graph, rows, model = regression()
        schedule = Schedule(epochs=600, weight_decay=0.0, group_lasso=share)
        fit(model, raw_input(rows), Topology(graph), targets_of(graph), schedule)
        norms = model.conv1.lin.weight.detach().norm(dim=0)
        ends[share] = norms[TELLING:].median() / norms[:TELLING].min()
    assert ends[0.3] < 0.05 < ends[0.0]
    graph, rows, model = regression()
    assert group_lasso(model, raw_input(rows), Topology(graph), targets_of(graph), 0.0) is None


def test_every_backbone_knows_the_weights_of_its_features():
    """Without a feature's weights, that feature does not matter, and others do."""
    graph, rows, _ = small_graph()
    changed, other = rows.copy(), rows.copy()
    changed[:, 4] += 1
    other[:, 5] += 1

    def check(name):
        torch.manual_seed(0)
        # As many hidden columns as features, so that shapes alone do not tell the weights apart.
        model = build_backbone(name, graph.feature_count, graph.feature_count, graph.class_count).eval()
        with torch.no_grad():
            for weight in model.feature_weights():
                assert weight.shape[1] == graph.feature_count
                weight[:, 4] = 0
        scores = [model(raw_input(one), Topology(graph)) for one in (rows, changed, other)]
        torch.testing.assert_close(scores[0], scores[1])
        assert not torch.allclose(scores[0], scores[2])

    each(["gcn", "sage", "gat", "gin", "appnp", "sgc", "ssgc", "mlp"], check)


def test_a_backbone_that_does_not_say_its_weights_is_refused():
    class Mine(Backbone):
        def layer(self, conv, inputs, topology):
            raise NotImplementedError

    with pytest.raises(InputError, match="Mine has no feature_weights"):
        Mine("selu", 0.0).feature_weights()
