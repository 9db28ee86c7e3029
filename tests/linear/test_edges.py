"""Edges in all forms in which PyG's layers take them."""

import numpy as np
import pytest
import torch

from graphveil.errors import InputError
from graphveil.linear.sparse import edges_of
from tests.together import together

# 0 -> 1 of weight 2, 2 -> 1 of weight 3.
INDEX, WEIGHTS = torch.tensor([[0, 2], [1, 1]]), torch.tensor([2.0, 3.0])
DENSE = torch.tensor([[0.0, 0.0, 0.0], [2.0, 0.0, 3.0], [0.0, 0.0, 0.0]])


class Outside:
    """What torch_sparse's SparseTensor looks like."""

    def coo(self):
        return INDEX[1], INDEX[0], WEIGHTS

    def sizes(self):
        return [3, 3]


@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support is in beta state")
@pytest.mark.parametrize(
    "given",
    [
        lambda: (INDEX, 3, WEIGHTS),
        lambda: (DENSE.to_sparse(), 3),
        lambda: (DENSE.to_sparse_csr(), 3),
        lambda: (DENSE.to_sparse_csc(), 3),
        lambda: (Outside(), 3),
    ],
    ids=["edge_index", "coo", "csr", "csc", "torch_sparse"],
)
def test_all_forms_are_the_same_edges(given):
    edges = edges_of(*given())
    found = sorted(zip(edges.source.tolist(), edges.target.tolist(), edges.weights.tolist(), strict=True))
    assert found == [(0, 1, 2.0), (2, 1, 3.0)]
    assert not edges.plain and edges_of(INDEX, 3).plain


@together(
    ("arguments", "words"),
    [
        ((DENSE, 3), "edges must be an edge_index"),
        (("edges", 3), "got str"),
        ((DENSE.to_sparse(), 4), "must be 4 x 4"),
        ((DENSE.to_sparse(), 3, WEIGHTS), "leave edge_weight out"),
        ((INDEX, 3, WEIGHTS[:1]), "one an edge"),
        ((INDEX, 3, -WEIGHTS), "at least 0"),
        ((INDEX, 3, WEIGHTS * np.nan), "finite"),
        ((INDEX, 2), r"nodes 0\.\.1, got 0\.\.2"),
    ],
)
def test_what_is_no_graph_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        edges_of(*arguments)
