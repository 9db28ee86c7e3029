import numpy as np
import torch

from graphveil.denoise import KProp
from graphveil.learn import spread_labels
from graphveil.linear import gcn_matrix
from tests.learn.graphs import small_graph


def two_circles():
    """Users 0..9 all know each other, so do 10..19, and 20 is alone."""
    pairs = [(i, j) for start in (0, 10) for i in range(start, start + 10) for j in range(start, i)]
    return small_graph(users=21, isolated=0)[0].with_edges(np.array(pairs))


def test_a_wrong_label_is_outvoted_and_nobody_hears_the_others():
    labels = torch.tensor([0] * 10 + [1] * 10 + [1])
    labels[3], labels[12] = 1, 0
    hops = KProp(2).operator(gcn_matrix(two_circles(), loops=False))
    known = torch.ones(21, dtype=torch.bool)
    cleaned = spread_labels(labels, known, 2, hops)
    assert cleaned.tolist() == [0] * 10 + [1] * 10 + [1]


def test_unknown_labels_do_not_count():
    labels = torch.tensor([0] * 2 + [1] * 8 + [-1] * 11)
    known = torch.zeros(21, dtype=torch.bool)
    known[:2] = True
    hops = KProp(2).operator(gcn_matrix(two_circles(), loops=False))
    cleaned = spread_labels(labels, known, 2, hops)
    assert cleaned[:10].tolist() == [0] * 10
    assert cleaned[10:].tolist() == [-1] * 11
