"""A whole run of togl against one of base: what asking twice and analysing in between costs.

Both learn from co-phy where it is at hand, else from random friendships of the same size: piecewise at ε = 10, a GCN with 64
hidden columns, 300 epochs, no hops on the reports that are learned from; then lpgnn and togl with three hops each. The references
are our own, so the ratio says what two rounds add to a run that is fast already. Each side runs in a process of its own, on one
thread, and says what it took; memory is the whole process at its peak, imports and data included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.result import Result, Sizes
from graphveil.errors import GraphveilError
from graphveil.graphs import Graph, Users, from_arrays, load
from graphveil.methods import METHODS, Job
from graphveil.settings import peak_megabytes

# As many times as long as base at most; and megabytes for the whole process, of co-phy alone.
TIME_TARGET, MEMORY_TARGET = 1.5, 2500.0
USERS, FEATURES, DEGREE, CLASSES, ONES = 34_493, 8_415, 14, 5, 33
EPSILON, EPOCHS, SEED = 10.0, 300, 0
# As printed: everybody answers the best attributes, and only the second round is learned from.
PRINTED = {"analysis": "sma", "pool": "top", "rho": 0.5, "m_from": "total", "learn_from": "second"}
# Hops, what is learned by without two rounds, and what togl is measured with.
CASES: tuple[tuple[int, str, dict[str, dict[str, Any]]], ...] = (
    (0, "base", {"defaults": {}, "as printed": PRINTED}),
    (3, "lpgnn", {"defaults": {}}),
)


def run(sizes: Sizes) -> list[Result]:
    """Processor seconds of a whole run and peak memory of its process, as ratios to one round."""
    small = sizes.epochs < EPOCHS
    shape = (sizes.users, sizes.dimensions, sizes.epochs) if small else (USERS, FEATURES, EPOCHS)
    found = []
    for hops, reference, variants in CASES:
        known = {} if reference == "base" else {"hops": hops}
        theirs = _measured(reference, known, shape)
        for title, given in variants.items():
            ours = _measured("togl", {"hops": hops, **given}, shape)
            what = f"togl, {title}, {hops} hops, {shape[2]} epochs, {ours['source']}"
            for unit, target in (("s", TIME_TARGET), ("MB", MEMORY_TARGET / theirs["MB"])):
                numbers = (ours[unit], theirs[unit], target)
                found.append(Result("rounds", f"{what}: {unit}", reference, unit, *numbers))
    return found


def _measured(method: str, settings: dict[str, Any], shape: tuple[int, int, int]) -> dict[str, Any]:
    """What a fresh process took."""
    command = [sys.executable, "-m", "benchmarks.rounds", method, json.dumps(settings), *map(str, shape)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure_here(
    name: str, given: dict[str, Any], users_count: int, features: int, epochs: int
) -> dict[str, Any]:
    """A whole run in this process; its data is there already and costs memory, but no time."""
    torch.set_num_threads(1)
    source, graph, users = _data(users_count, features)
    method = METHODS.find(name)
    settings = method.settings.of({"epochs": epochs, "hidden": 64, **given})
    job = Job.of(
        graph,
        users.declare(EPSILON, seed=SEED),
        settings,
        SEED,
        epsilon=EPSILON,
        mechanism="piecewise",
    )
    start = time.process_time()
    method.run(job)
    return {"source": source, "s": time.process_time() - start, "MB": peak_megabytes()}


def _data(users_count: int, features: int) -> tuple[str, Graph, Users]:
    """co-phy where it is at hand and has this shape, else random friendships of the same size."""
    from scipy.sparse import csr_array

    if (users_count, features) == (USERS, FEATURES):
        try:
            return "co-phy", *load("co-phy", seed=SEED)
        except GraphveilError:
            pass
    random = np.random.default_rng(SEED)
    pairs = random.integers(0, users_count, (users_count * DEGREE // 2, 2))
    labels = random.integers(0, CLASSES, users_count)
    owners = np.repeat(np.arange(users_count), ONES)
    held = random.integers(0, features, users_count * ONES)
    rows = csr_array((np.ones(len(held)), (owners, held)), shape=(users_count, features))
    rows.data[:] = 1.0
    name = "random friendships"
    return name, *from_arrays(pairs, rows, labels, range=(0, 1), binary=True, name=name, seed=SEED)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(json.dumps(measure_here(sys.argv[1], json.loads(sys.argv[2]), *map(int, sys.argv[3:]))))
