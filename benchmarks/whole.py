"""A whole run of upgnet against the same computation done densely: reports, four hops, 500 epochs of a GCN.

The reference follows LPGNN's published method: multi-bit on a dense matrix, the hops on all n x d numbers, a first layer on
the dense result, a training and a validation pass an epoch. Scale, split, layers and optimizer are ours, so that both learn
equally well. Each side runs in a process of its own, on one thread, and says what it took.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from benchmarks.dense import dense_multibit
from benchmarks.result import Result, Sizes
from benchmarks.rows import sparse_rows
from benchmarks.training import CLASSES, DEGREE, PlainGCN
from graphveil.graphs import Graph, Users, from_arrays, load
from graphveil.linear import gcn_matrix
from graphveil.methods import METHODS, Job

TIME_TARGET, MEMORY_TARGET = 1 / 12, 1 / 10
# Accuracy may be lower by so many points.
POINTS = 1.0
EPSILON, HOPS, SHARE, SEED = 1.0, 4, 1 / 8, 0


def run(sizes: Sizes) -> list[Result]:
    """Processor seconds, peak memory and share of wrong test users of both sides."""
    ours, theirs = _measured("ours", sizes), _measured("dense", sizes)
    what = f"upgnet, K = {HOPS}, {sizes.epochs} epochs, {ours['source']}"
    results = [
        Result("whole", f"{what}: {unit}", "dense, float32", unit, ours[unit], theirs[unit], target)
        for unit, target in (("s", TIME_TARGET), ("MB", MEMORY_TARGET))
    ]
    allowed = 1 + POINTS / theirs["% wrong"]
    wrong = (ours["% wrong"], theirs["% wrong"])
    return [*results, Result("whole", f"{what}: test users", "dense, float32", "% wrong", *wrong, allowed)]


def _measured(side: str, sizes: Sizes) -> dict[str, Any]:
    """What a fresh process took."""
    numbers = [str(number) for number in (sizes.users, sizes.dimensions, sizes.epochs)]
    command = [sys.executable, "-m", "benchmarks.whole", side, *numbers]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure_here(side: str, users_count: int, features: int, epochs: int) -> dict[str, Any]:
    """Run one side in this process; its data is there already and costs nothing."""
    torch.set_num_threads(1)
    source, graph, users = _data(users_count, features)
    side_run = {"ours": _ours, "dense": _dense}[side](graph, users, epochs)
    before, start = _peak(), time.process_time()
    scores = side_run()
    seconds = time.process_time() - start
    wrong = 100 * (1 - users.evaluate(scores, graph))
    return {"source": source, "s": seconds, "MB": _peak() - before, "% wrong": wrong}


def _ours(graph: Graph, users: Users, epochs: int) -> Any:
    method = METHODS.find("upgnet")
    settings = method.settings.of({"epochs": epochs, "hops": HOPS, "tau": 0, "input_share": SHARE})
    job = Job.of(graph, users.declare(EPSILON, seed=SEED), settings, SEED, epsilon=EPSILON)
    return lambda: method.run(job).scores


def _dense(graph: Graph, users: Users, epochs: int) -> Any:
    rows = np.asarray(users.raw.features.toarray(), dtype=np.float32)
    edges = torch.from_numpy(graph.edge_list())
    labels, train, validation = (torch.tensor(each) for each in (graph.labels, graph.train, graph.validation))

    def learn() -> np.ndarray:
        torch.manual_seed(SEED)
        reports = torch.from_numpy(dense_multibit(rows, 1, EPSILON, np.random.default_rng(SEED)))
        inputs = _dense_hops(reports.mul_(SHARE * rows.shape[1] ** 0.5), graph)
        del reports
        model = PlainGCN(rows.shape[1], graph.class_count)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)
        best, scores = float("inf"), torch.empty(0)
        for _ in range(epochs):
            model.train()
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs, edges)[train], labels[train]).backward()
            optimizer.step()
            model.eval()
            with torch.no_grad():
                out = model(inputs, edges)
                loss = float(functional.cross_entropy(out[validation], labels[validation]))
            if loss < best:
                best, scores = loss, out
        return scores.numpy()

    return learn


def _dense_hops(rows: Tensor, graph: Graph) -> Tensor:
    """(1/K) Σ_k Â^k X on the whole matrix."""
    matrix, total = gcn_matrix(graph, loops=False), torch.zeros_like(rows)
    for _ in range(HOPS):
        rows = matrix.multiply(rows)
        total += rows
    return total.div_(HOPS)


def _data(users_count: int, features: int) -> tuple[str, Graph, Users]:
    """facebook where it is at hand and has this shape, else random friendships of the same size."""
    source, rows = sparse_rows(users_count, features)
    if source == "facebook":
        return source, *load("facebook", seed=SEED)
    random = np.random.default_rng(SEED)
    pairs = random.integers(0, users_count, (users_count * DEGREE // 2, 2))
    labels = random.integers(0, CLASSES, users_count)
    return source, *from_arrays(pairs, rows, labels, range=(0, 1), binary=True, name=source, seed=SEED)


def _peak() -> float:
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kilobytes * 1024 / 1e6 / (1024 if sys.platform == "darwin" else 1)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(json.dumps(measure_here(sys.argv[1], *map(int, sys.argv[2:]))))
