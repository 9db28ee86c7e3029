import numpy as np
import pytest
import torch
from torch.nn import functional

from graphveil import mechanism
from graphveil.denoise import KProp
from graphveil.learn import DropTargets, Targets, Topology, spread_labels
from graphveil.linear import gcn_matrix
from tests.learn.graphs import small_graph


@pytest.fixture
def known():
    graph, _, _ = small_graph()
    return graph, *(torch.tensor(array) for array in (graph.labels, graph.train, graph.validation))


def transition(epsilon=1.0):
    return torch.tensor(mechanism("krr", epsilon=epsilon, classes=3).transition, dtype=torch.float32)


def test_the_transition_is_the_response_s():
    stay = np.e / (np.e + 2)
    np.testing.assert_allclose(
        transition().numpy(), np.full((3, 3), (1 - stay) / 2) + np.eye(3) * (stay - (1 - stay) / 2), rtol=1e-6
    )


def test_losses_are_cross_entropies_and_corrected_forward_by_hand(known):
    _, labels, train, validation = known
    scores = torch.randn(60, 3)
    targets = Targets(labels, train, validation)
    assert targets.train_loss(scores) == functional.cross_entropy(scores[train], labels[train])
    assert targets.validation_loss(scores) == functional.cross_entropy(scores[validation], labels[validation])
    reported = scores.softmax(1) @ transition()
    expected = -reported[train, labels[train]].log().mean()
    torch.testing.assert_close(Targets(labels, train, validation, transition()).train_loss(scores), expected)


@pytest.mark.statistical
def test_the_corrected_loss_is_smallest_for_the_true_classes():
    # 200,000 reports of one class: the corrected loss of the truth is below that of any softened version, the plain is not.
    random = np.random.default_rng(0)
    noise = transition(0.5)
    labels = torch.tensor(
        random.choice(3, 200_000, p=noise[0].double().numpy() / noise[0].double().sum().item())
    )
    everyone = torch.ones(len(labels), dtype=torch.bool)
    losses = {}
    for name, given in (("corrected", noise), ("plain", None)):
        targets = Targets(labels, everyone, everyone, given)
        losses[name] = [
            float(targets.train_loss(torch.tensor([[sure, 0.0, 0.0]]).expand(len(labels), 3)))
            for sure in (9, 0.5)
        ]
    assert losses["corrected"][0] < losses["corrected"][1]
    assert losses["plain"][0] > losses["plain"][1]


def drop(known, hops=2):
    graph, labels, train, validation = known
    operator = KProp(hops).operator(Topology(graph).unlooped)
    cleaned = spread_labels(labels, train | validation, 3, operator)
    return DropTargets(labels, train, validation, transition(), operator, cleaned), operator, cleaned


def test_drop_by_hand(known):
    _, labels, train, validation = known
    targets, operator, cleaned = drop(known)
    scores = torch.randn(60, 3, requires_grad=True)
    arriving = operator @ (scores.softmax(1) @ transition())
    reached = train & (arriving.sum(1) > 0)
    assert reached.sum() < train.sum(), "the graph has users without neighbours"
    share = arriving / arriving.sum(1, keepdim=True)
    chosen = share[reached, cleaned[reached]].log().neg().sum()
    alone = train & ~reached
    lonely = (scores.softmax(1) @ transition())[alone, labels[alone]].log().neg().sum()
    torch.testing.assert_close(targets.train_loss(scores), (chosen + lonely) / train.sum())
    torch.testing.assert_close(
        targets.validation_loss(scores),
        Targets(labels, train, validation, transition()).validation_loss(scores),
    )
    targets.train_loss(scores).backward()
    assert torch.isfinite(scores.grad).all() and scores.grad.abs().sum() > 0


# Labels that are spread before they are learned from


def two_circles():
    """Users 0..9 all know each other, so do 10..19, and 20 is alone."""
    pairs = [(i, j) for start in (0, 10) for i in range(start, start + 10) for j in range(start, i)]
    return small_graph(users=21, isolated=0)[0].with_edges(np.array(pairs))


def spread_over_circles(labels, known):
    hops = KProp(2).operator(gcn_matrix(two_circles(), loops=False))
    return spread_labels(labels, known, 2, hops).tolist()


def test_a_wrong_label_is_outvoted_and_nobody_hears_the_others():
    labels = torch.tensor([0] * 10 + [1] * 10 + [1])
    labels[3], labels[12] = 1, 0
    assert spread_over_circles(labels, torch.ones(21, dtype=torch.bool)) == [0] * 10 + [1] * 10 + [1]


def test_unknown_labels_do_not_count():
    labels = torch.tensor([0] * 2 + [1] * 8 + [-1] * 11)
    assert spread_over_circles(labels, torch.arange(21) < 2) == [0] * 10 + [-1] * 11
