"""Training: an epoch on sparse multi-bit reports against the plain PyG model on the dense matrix.

Both are the same two-layer GCN, hidden size 16, with a training and a validation pass an epoch, on one thread. The
reference is what one writes with PyG: a dense n x d float32 matrix, GCNConv with cached normalisation, dropout, Adam.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv

from benchmarks.measure import Call, interleaved
from benchmarks.result import Result, Sizes
from benchmarks.rows import sparse_rows
from graphveil.channels import SeededBits
from graphveil.graphs import Graph, from_arrays
from graphveil.learn import Schedule, Targets, Topology, build_backbone, fit
from graphveil.learn.inputs import report_input
from graphveil.mechanisms import mechanism

# At least ten times as fast an epoch.
TIME_TARGET = 1 / 10
HIDDEN, CLASSES, DEGREE, EPOCHS = 16, 4, 15, 2
SEED = 0


class PlainGCN(nn.Module):
    """Two GCNConv layers with an activation and dropout between them."""

    def __init__(self, inputs: int, classes: int = CLASSES) -> None:
        super().__init__()
        self.conv1 = GCNConv(inputs, HIDDEN, cached=True)
        self.conv2 = GCNConv(HIDDEN, classes, cached=True)

    def forward(self, rows: Tensor, edges: Tensor) -> Tensor:
        hidden = functional.selu(self.conv1(rows, edges))
        out: Tensor = self.conv2(functional.dropout(hidden, 0.5, self.training), edges)
        return out


def run(sizes: Sizes) -> list[Result]:
    """Seconds an epoch."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    source, rows = sparse_rows(sizes.users, sizes.dimensions)
    graph = random_graph(rows.shape[0])
    built = mechanism("multibit", epsilon=1.0, dims=rows.shape[1], range=(0, 1))
    reports = built.randomize(rows, SeededBits(SEED))
    labels, train, validation = (
        torch.tensor(array) for array in (graph.labels, graph.train, graph.validation)
    )
    inputs, topology = report_input(reports), Topology(graph)
    model = build_backbone("gcn", rows.shape[1], HIDDEN, CLASSES)
    targets = Targets(labels, train, validation)
    dense = torch.from_numpy(reports.estimate().dense().astype(np.float32))
    edges = torch.from_numpy(graph.edge_list())
    plain = PlainGCN(rows.shape[1])
    optimizer = torch.optim.Adam(plain.parameters(), lr=0.01, weight_decay=1e-3)

    def sparse_way() -> object:
        return fit(model, inputs, topology, targets, Schedule(epochs=EPOCHS))

    def dense_way() -> object:
        for _ in range(EPOCHS):
            plain.train()
            optimizer.zero_grad()
            loss = functional.cross_entropy(plain(dense, edges)[train], labels[train])
            loss.backward()
            optimizer.step()
            plain.eval()
            with torch.no_grad():
                held_out = functional.cross_entropy(plain(dense, edges)[validation], labels[validation])
        return held_out

    calls: dict[str, Call] = {"dense": dense_way, "sparse": sparse_way}
    timings = interleaved(calls, sizes.repetitions)
    return [
        Result(
            "training",
            f"GCN, an epoch, {source}",
            "plain PyG, dense float32",
            "s",
            timings.best("sparse") / EPOCHS,
            timings.best("dense") / EPOCHS,
            TIME_TARGET,
            timings.median_ratio("sparse", "dense"),
        )
    ]


def random_graph(users: int) -> Graph:
    """Random friendships, about as many as facebook has."""
    random = np.random.default_rng(SEED)
    pairs = random.integers(0, users, (users * DEGREE // 2, 2))
    return from_arrays(pairs, None, random.integers(0, CLASSES, users), name="random")[0]
