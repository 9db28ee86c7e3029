"""Our lpgnn against LPGNN as its paper describes it, and an epoch of ours against the sparse products that it cannot do without.

The reference is written from the formulas of Sajadmanesh and Gatica-Perez (2021), "Locally private graph neural networks", as a
program for PyTorch: multi-bit on a dense matrix, KProp on all n x d numbers once before training, a two-layer GCN on the dense
result, a training and an evaluation pass an epoch, and a copy of the weights whenever the validation loss is lower. Where it
could be written in several ways, it is written in the fastest: wide products are a compiled loop over rows, as in torch_sparse
(torch's own CSR product takes twice as long), narrow ones torch's CSR product, forward and back. Features are dense before its clock
starts. Ours is `graphveil.run` with its defaults, and once more with one scale of the input.

Each side runs in a process of its own, on one thread, from a loaded graph to the test accuracy. More graphs and hops:

    python -m benchmarks.peers --graphs cora citeseer --hops 0 2 4 8 16 32 64
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor, nn
from torch.nn import functional

import graphveil
from benchmarks.measure import Timings, forget_peak, interleaved
from benchmarks.result import Result, Sizes, table
from graphveil.errors import GraphveilError
from graphveil.graphs import Graph, Users, load
from graphveil.linear import compiled, gcn_matrix
from graphveil.linear.sparse import csr_tensor
from graphveil.settings import peak_megabytes

# Graph and hops, and the share of the reference's time that the defaults may take.
CASES = {("facebook", 8): 1 / 15, ("cora", 16): 1 / 4, ("pubmed", 16): 1 / 4}
# No graph and no number of hops may take longer than the reference; and what an epoch may take of its products' time.
OTHER_TARGET, EPOCH_TARGET = 1.0, 1.5
MEMORY_TARGETS = {"facebook": 1 / 8}
# Accuracy may be lower by so many points.
POINTS = 1.0
EPOCH_CASES = (
    ("facebook", 8),
    ("cora", 16),
    ("pubmed", 16),
    ("citeseer", 16),
    ("amazon-computers", 4),
    ("co-phy", 4),
)
# Users and features, for graphs of the same size where these are not at hand.
SHAPES = {
    "facebook": (22_470, 4_714),
    "cora": (2_708, 1_433),
    "pubmed": (19_717, 500),
    "citeseer": (3_327, 3_703),
    "amazon-computers": (13_752, 767),
    "co-phy": (34_493, 8_415),
}
SIDES = {"auto": "lpgnn", "one": "lpgnn, one scale", "reference": "LPGNN, dense float32"}
EPSILON, HIDDEN, ONE_SCALE, SEED = 1.0, 16, 1 / 8, 0
# Of a process each, one after the other; and epochs whose difference is measured.
REPETITIONS, SHORT, LONG = 2, 40, 100
# Epochs' products in one call.
REPEAT = 10
# The graph of a run that is not measured.
WARM_UP = "town"
# What a process says it took.
UNITS = {"s": "time", "MB": "memory", "MB, whole": "whole process", "% wrong": "test users"}


def run(sizes: Sizes) -> list[Result]:
    """Seconds, memory and share of wrong test users of whole runs; then epochs against their products."""
    if sizes.epochs < SHORT:
        small = f"{sizes.users} x {sizes.dimensions}"
        return [*compare([(small, 2)], sizes), *epochs([(small, 2)], sizes)]
    return [*compare(CASES, sizes), *epochs(EPOCH_CASES, sizes)]


def compare(cases: Iterable[tuple[str, int]], sizes: Sizes) -> list[Result]:
    """Both of ours against the reference, interleaved."""
    found: list[Result] = []
    for graph, hops in cases:
        # What is compiled for a graph is compiled now.
        _measured("auto", graph, hops, 2)
        turns: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
        for _ in range(min(sizes.repetitions, REPETITIONS)):
            for side, taken in turns.items():
                taken.append(_measured(side, graph, hops, sizes.epochs))
        source = turns["auto"][0]["source"]
        timings = Timings({side: tuple(turn["s"] for turn in taken) for side, taken in turns.items()})
        least = {
            side: {unit: min(turn[unit] for turn in taken) for unit in UNITS} for side, taken in turns.items()
        }
        # The scale that is found at best costs a point; one that is taken unseen may cost more.
        allowed = 1 + POINTS / least["reference"]["% wrong"]
        targets = {
            ("auto", "s"): CASES.get((source, hops), OTHER_TARGET),
            ("auto", "MB"): MEMORY_TARGETS.get(source),
            ("auto", "% wrong"): allowed,
            ("one", "s"): OTHER_TARGET,
        }
        for side in ("auto", "one"):
            for unit, what in UNITS.items():
                case = f"{SIDES[side]}, {source}, K = {hops}: {what}"
                ours, theirs = least[side][unit], least["reference"][unit]
                median = timings.median_ratio(side, "reference") if unit == "s" else None
                shown, target = unit.split(",")[0], targets.get((side, unit))
                found.append(Result("peers", case, SIDES["reference"], shown, ours, theirs, target, median))
    return found


def epochs(cases: Iterable[tuple[str, int]], sizes: Sizes) -> list[Result]:
    """An epoch of ours at one scale against the bare sparse products of an epoch."""
    found = []
    for graph, hops in cases:
        taken = _measured("epoch", graph, hops, sizes.epochs)
        case = f"an epoch, {taken['source']}, K = {hops}"
        numbers = taken["s"], taken["products"], EPOCH_TARGET
        found.append(Result("peers", case, "its sparse products", "s", *numbers))
    return found


def _measured(side: str, graph: str, hops: int, epochs: int) -> dict[str, Any]:
    """What a fresh process took."""
    command = [sys.executable, "-m", "benchmarks.peers", "--graphs", graph, "--hops", str(hops)]
    command += ["--epochs", str(epochs), "--side", side]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, cwd=Path(__file__).parent.parent
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure_here(side: str, name: str, hops: int, epochs: int) -> dict[str, Any]:
    """One side in this process, which a tiny run has made import and compile what it needs."""
    torch.set_num_threads(1)
    if side == "epoch":
        return measure_epoch(name, hops, epochs)
    _whole_run(side, WARM_UP, hops, 2)
    forget_peak()
    before = peak_megabytes()
    found = _whole_run(side, name, hops, epochs)
    peak = peak_megabytes()
    return {**found, "MB": peak - before, "MB, whole": peak}


def _whole_run(side: str, name: str, hops: int, epochs: int) -> dict[str, Any]:
    source, graph, users = _data(name)
    if side == "reference":
        held = users.raw.features.astype(np.float32)
        rows = torch.from_numpy(held.toarray() if issparse(held) else held)
        start = time.process_time()
        accuracy = rebuilt(graph, rows, torch.tensor(users.raw.labels), hops, epochs)
    else:
        start = time.process_time()
        accuracy = _ours(graph, users, hops, epochs, "auto" if side == "auto" else ONE_SCALE)
    seconds = time.process_time() - start
    return {"source": source, "s": seconds, "% wrong": 100 * (1 - accuracy)}


def _data(name: str) -> tuple[str, Graph, Users]:
    """A graph by its name, or a generated one: of the same size, or of so many users x features."""
    if " x " not in name:
        try:
            return name, *load(name, seed=SEED)
        except GraphveilError:
            if name not in SHAPES:
                raise
    # PyG and others come with it, which ours does not need.
    from benchmarks.whole import _data as generated

    if " x " in name:
        return generated(*map(int, name.split(" x ")))
    return f"{name}'s size", *generated(*SHAPES[name])[1:]


def _ours(graph: Graph, users: Users, hops: int, epochs: int, share: Any) -> float:
    settings = {"epochs": epochs, "hops": hops, "input_share": share}
    once: dict[str, Any] = {"runs": 1, "jobs": 1, "keep": False, "control": False}
    return float(graphveil.run("lpgnn", graph, users, epsilon=EPSILON, settings=settings, **once).scores()[0])


# --- The reference ---


def rebuilt(graph: Graph, rows: Tensor, labels: Tensor, hops: int, epochs: int) -> float:
    """The test accuracy of LPGNN with public labels."""
    torch.manual_seed(SEED)
    inputs = propagated(_csr(graph, loops=False), multibit(rows, EPSILON), hops)
    train, validation, test = (torch.tensor(each) for each in (graph.train, graph.validation, graph.test))
    model, matrix = DenseGCN(rows.shape[1], graph.class_count), _csr(graph, loops=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
    best, weights = math.inf, copy.deepcopy(model.state_dict())
    for _ in range(epochs):
        model.train()
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs, matrix)[train], labels[train]).backward()
        optimizer.step()
        loss, _ = evaluated(model, inputs, matrix, labels, (validation, train, test))
        if loss < best:
            best, weights = loss, copy.deepcopy(model.state_dict())
    model.load_state_dict(weights)
    return evaluated(model, inputs, matrix, labels, (test,))[1][0]


def multibit(rows: Tensor, epsilon: float) -> Tensor:
    """Reports of rows in [0, 1], rectified: x' = d/(2m)·(e^(ε/m)+1)/(e^(ε/m)-1)·x* + 1/2, dense.

    m = max(1, min(d, ⌊ε/2.18⌋)) random dimensions of each user are answered with x* = ±1, +1 with the probability
    1/(e^(ε/m)+1) + x(e^(ε/m)-1)/(e^(ε/m)+1), the others have x* = 0.
    """
    dims = rows.shape[1]
    sampled = max(1, min(dims, math.floor(epsilon / 2.18)))
    power = math.exp(epsilon / sampled)
    places = torch.rand_like(rows).topk(sampled, dim=1).indices
    asked = torch.zeros_like(rows).scatter_(1, places, 1.0)
    answers = torch.bernoulli(rows * ((power - 1) / (power + 1)) + 1 / (power + 1))
    encoded = asked * (2 * answers - 1)
    return encoded * (dims / (2 * sampled) * (power + 1) / (power - 1)) + 0.5


def propagated(matrix: Tensor, rows: Tensor, hops: int) -> Tensor:
    """KProp: (D^-1/2 A D^-1/2)^K X."""
    from benchmarks.kernels import numba_product

    parts = [each.numpy() for each in (matrix.crow_indices(), matrix.col_indices(), matrix.values())]
    for _ in range(hops):
        out = torch.empty_like(rows)
        numba_product(*parts, rows.numpy(), out.numpy())
        rows = out
    return rows


class DenseGCN(nn.Module):
    """SELU and dropout between two layers ÂXW + b."""

    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.first, self.second = (
            nn.Linear(inputs, HIDDEN, bias=False),
            nn.Linear(HIDDEN, classes, bias=False),
        )
        self.biases = nn.ParameterList([torch.zeros(HIDDEN), torch.zeros(classes)])
        for layer in (self.first, self.second):
            nn.init.xavier_uniform_(layer.weight)

    def forward(self, rows: Tensor, matrix: Tensor) -> Tensor:
        hidden = functional.selu(SymmetricProduct.apply(self.first(rows), matrix) + self.biases[0])
        hidden = functional.dropout(hidden, 0.5, self.training)
        out: Tensor = SymmetricProduct.apply(self.second(hidden), matrix) + self.biases[1]
        return out


class SymmetricProduct(torch.autograd.Function):
    """A symmetric CSR matrix times a dense one; torch's own gradient would transpose the matrix each time."""

    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: Tensor) -> Tensor:
        ctx.matrix = matrix
        return matrix @ dense

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.matrix @ gradients[0], None


def evaluated(
    model: DenseGCN, inputs: Tensor, matrix: Tensor, labels: Tensor, masks: Sequence[Tensor]
) -> tuple[float, list[float]]:
    """The loss of the first mask's users, and the accuracy of each mask's."""
    model.eval()
    with torch.no_grad():
        scores = model(inputs, matrix)
        loss = float(functional.cross_entropy(scores[masks[0]], labels[masks[0]]))
        right = scores.argmax(1) == labels
        return loss, [float(right[mask].float().mean()) for mask in masks]


def _csr(graph: Graph, *, loops: bool) -> Tensor:
    """D^-1/2 A D^-1/2, or D^-1/2 (A + I) D^-1/2 with loops, as a CSR tensor."""
    pairs = graph.edge_list()
    count, own = graph.node_count, np.arange(graph.node_count)
    sources, targets = (np.concatenate([ends, own]) if loops else ends for ends in pairs)
    roots = np.sqrt(np.maximum(np.bincount(sources, minlength=count), 1))
    values = (1 / (roots[sources] * roots[targets])).astype(np.float32)
    made = csr_array((values, (sources, targets)), shape=(count, count))
    return csr_tensor(made.indptr, made.indices, made.data, (count, count))


# --- An epoch and its products ---


def measure_epoch(name: str, hops: int, epochs: int) -> dict[str, Any]:
    """Seconds of an epoch, by the difference of a long and a short training, and of its products."""
    source, graph, users = _data(name)
    short = min(SHORT, epochs)
    more = min(LONG, epochs)
    timings = interleaved(
        {
            "short": lambda: _ours(graph, users, hops, short, ONE_SCALE),
            "long": lambda: _ours(graph, users, hops, short + more, ONE_SCALE),
            "products": products(graph, users.raw.features.shape[1], hops),
        },
        3,
    )
    epoch = (timings.best("long") - timings.best("short")) / more
    return {"source": source, "s": epoch, "products": timings.best("products") / REPEAT}


def products(graph: Graph, dims: int, hops: int) -> Callable[[], None]:
    """A call that does `REPEAT` times what an epoch has to multiply, by the fastest kernel there is.

    Reports (one answer a user at ε = 1) times weights, K hops and the first layer's one in 16 columns, and all of it back; in as many
    columns as classes the second layer's, in training and in evaluation, and back.
    """
    users, classes = graph.node_count, graph.class_count
    random = np.random.default_rng(SEED)
    answers = csr_array(
        (np.ones(users, dtype=np.float32), random.integers(0, dims, users), np.arange(users + 1)),
        shape=(users, dims),
    )
    back = answers.T.tocsr()
    hop, layer = (_parts(gcn_matrix(graph, loops=loops)) for loops in (False, True))
    weights = random.random((dims, HIDDEN), dtype=np.float32)
    one, other = (random.random((users, HIDDEN), dtype=np.float32) for _ in range(2))
    scores, out = (random.random((users, classes), dtype=np.float32) for _ in range(2))

    def multiply() -> None:
        for _ in range(REPEAT):
            compiled.sparse_product((answers.indptr, answers.indices, answers.data), weights, one)
            for matrix in (layer, *[hop] * hops):
                compiled.sparse_product(matrix, one, other)
                compiled.sparse_product(matrix, other, one)
            for _ in range(3):
                compiled.sparse_product(layer, scores, out)
            compiled.sparse_product((back.indptr, back.indices, back.data), one, weights)

    return multiply


def _parts(matrix: Any) -> tuple[Any, Any, Any]:
    tensor = matrix._rows.tensor
    return tensor.crow_indices().numpy(), tensor.col_indices().numpy(), tensor.values().numpy()


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare on the graphs and hops that are named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers")
    parser.add_argument("--graphs", nargs="+", default=["cora"], help="names of graphs")
    parser.add_argument("--hops", nargs="+", type=int, default=[0, 2, 4, 8, 16, 32, 64], help="K")
    parser.add_argument("--epochs", type=int, default=500)
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument(
        "--side", choices=[*SIDES, "epoch"], help="one side of the first graph, in this process, as JSON"
    )
    options = parser.parse_args(arguments)
    if options.side:
        found = measure_here(options.side, options.graphs[0], options.hops[0], options.epochs)
        print(json.dumps(found))
        return
    cases = [(graph, hops) for graph in options.graphs for hops in options.hops]
    print(table(compare(cases, Sizes(repetitions=options.repetitions, epochs=options.epochs))))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
