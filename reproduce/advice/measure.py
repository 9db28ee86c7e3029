"""Measure what veil gains over structure on towns and real graphs, which advice on a budget is learned from.

    python -m reproduce.advice.measure [--towns N] [--graphs NAME …] [--minutes M]

from the project's folder. Each line is one run, and the file is written after every graph: the same command goes on where it
ended. Lines go to measured_gains.csv beside this file.
`python -m reproduce.advice.fit` then fits the curves that the package keeps.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from graphveil import learn
from graphveil.errors import GraphveilError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import OpenUnit, RunUnit, open_unit
from graphveil.graphs import Graph, Users, load
from graphveil.methods import veil
from graphveil.methods.structure import Posterior, scores_of, structure_posterior
from graphveil.methods.tasks import Outcome
from graphveil.methods.veil import Veil
from graphveil.methods.veil_advice import (
    PublicNumbers,
    simulated_gain,
    volunteer_rows,
    within_reach,
)
from graphveil.methods.veil_model import PublicModel, model_from_panel
from reproduce.advice.gains import COLUMNS, FILE

GRAPHS = (
    *("cora", "citeseer", "twitch", "squirrel-filtered", "flickr-small", "pubmed", "tolokers"),
    *("amazon-computers", "wikipedia", "facebook", "co-cs", "co-phy"),
)
# Budgets with the number of volunteers, 0 for none: what is measured on every graph, and on a second split of it.
ALONE = ((4.0, 0), (2.0, 0), (1.0, 0), (8.0, 0))
ASKED = (*ALONE, (4.0, 300), (2.0, 300), (4.0, 100))
AGAIN = ((4.0, 0), (4.0, 300))
# Volunteers teach in every other town: they take most of the time.
WITH_PANEL = 2
TOWN_SEED = 20_000


@dataclass(frozen=True)
class MeasuredGraph:
    """A graph with a split: its name in the file, what is loaded, and which seeds."""

    name: str
    data: str
    options: dict[str, Any]
    seeds: tuple[int, ...] = (0,)
    asked: tuple[tuple[float, int], ...] = ASKED


def towns(count: int) -> list[MeasuredGraph]:
    """Towns over users, features, labels and homophily, drawn once and for all."""
    found = []
    for place in range(count):
        random = np.random.default_rng([TOWN_SEED, place])
        users = int(np.exp(random.uniform(np.log(1000), np.log(8000))))
        features = int(np.exp(random.uniform(np.log(16), np.log(512))))
        neighbourhood = int(np.exp(random.uniform(np.log(8), np.log(80))))
        rarely = random.uniform(0.05, 0.25)
        nearby = random.uniform(0.2, 0.9)
        half = random.random() < 0.35
        options = {
            "users": users,
            "features": features,
            "telling": max(1, int(features * random.uniform(0.1, 0.6))),
            "kinds": int(random.integers(2, 9)),
            "neighbourhood": neighbourhood,
            "degree": min(np.exp(random.uniform(np.log(2), np.log(20))), 0.7 * (neighbourhood - 1) / nearby),
            "nearby": nearby,
            "rarely": rarely,
            "often": min(rarely + np.exp(random.uniform(np.log(0.15), np.log(0.85))), 0.95),
            "labelled": 0.5 if half else np.exp(random.uniform(np.log(0.03), np.log(0.4))),
            "validated": 0.25 if half else random.uniform(0.05, 0.25),
            "town_seed": place,
        }
        rounded = {
            key: round(value, 3) if isinstance(value, float) else value for key, value in options.items()
        }
        asked = ASKED if place % WITH_PANEL == 0 else ALONE
        found.append(MeasuredGraph(f"town-{place}", "town", rounded, asked=asked))
    return found


def graphs(names: list[str]) -> list[MeasuredGraph]:
    """Real graphs, half of whose users have a label."""
    return [MeasuredGraph(name, name, {}, (0, 1)) for name in names]


def few(names: list[str]) -> list[MeasuredGraph]:
    """Real graphs with few labels."""
    asked = (*ALONE, (4.0, 100))
    return [MeasuredGraph(f"{name} few", name, {"split": "few"}, asked=asked) for name in names]


def measured(graph: MeasuredGraph, done: Collection[tuple[str, ...]]) -> list[dict[str, Any]]:
    """The lines of a graph that are not done: structure once a split, and veil with every budget on top of it."""
    lines = []
    given: tuple[Graph, Users] | None = None
    options = {f"data.{key}": value for key, value in graph.options.items()}
    for seed in graph.seeds:
        posterior: Posterior | None = None
        taught = OnceTaught()
        for epsilon, panel in graph.asked if seed == graph.seeds[0] else AGAIN:
            if (graph.name, str(seed), str(panel), shown(epsilon)) in done:
                continue
            volunteers = {"panel": panel} if panel else {}
            given = given or load(graph.data, seed=0, **graph.options)
            spec = Experiment.of(
                "veil", graph.data, epsilon=epsilon, seed=seed, settings=options, **volunteers
            )
            try:
                with learn.one_thread(), patch.object(veil, "model_from_panel", taught):
                    ready = open_unit(RunUnit(spec, given=given))
                    if posterior is None:
                        posterior = structure_posterior(ready.job)
                    line = one_line(spec, ready, posterior, taught)
            except GraphveilError as error:
                print(f"{graph.name}, {panel} volunteers: {error}", file=sys.stderr)
                continue
            lines.append({"graph": graph.name, "seed": seed, "panel": panel, "epsilon": epsilon, **line})
    return lines


class OnceTaught:
    """What a panel teaches, computed once for all budgets: it does not depend on them."""

    def __init__(self) -> None:
        self.models: dict[int, PublicModel] = {}

    def __call__(self, graph: Graph, *more: Any) -> PublicModel:
        assert graph.panel is not None
        if len(graph.panel) not in self.models:
            self.models[len(graph.panel)] = model_from_panel(graph, *more)
        return self.models[len(graph.panel)]


def one_line(spec: Experiment, ready: OpenUnit, posterior: Posterior, taught: OnceTaught) -> dict[str, Any]:
    """What is public, and what came of asking."""
    method = ready.method
    assert isinstance(method, Veil)
    method.check(ready.job)
    outcome = method.learn_from(ready.job, posterior)
    alone = Outcome(scores_of(posterior.raw, several=False), 0.0, 0.0, {})
    graph, users = ready.graph, ready.users
    before, after = (spec.resolved_task.test_score(graph, users, each) for each in (alone, outcome))
    numbers = PublicNumbers.of(ready.job.graph, posterior)
    epsilon, rows = spec.budgets.epsilon, posterior.rows[~graph.train]
    assert epsilon is not None
    nats = simulated = 0.0
    if ready.job.graph.panel is not None:
        volunteers = volunteer_rows(ready.job.graph, posterior, taught(ready.job.graph))
        nats, simulated = volunteers.nats, simulated_gain(rows, volunteers, epsilon)
    return {
        **asdict(numbers),
        "reach": within_reach(rows, epsilon),
        "nats": nats,
        "simulated": simulated,
        "tested": int(graph.test.sum()),
        "structure": 100 * before,
        "gain": 100 * (after - before),
    }


def main() -> None:
    """Measure what is not measured yet."""
    parser = argparse.ArgumentParser(prog="python -m reproduce.advice.measure", description=__doc__)
    parser.add_argument("--towns", type=int, default=80, help="how many towns")
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS), help="which real graphs")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no graph after so many")
    asked = parser.parse_args()
    start = time.monotonic()
    lines: list[dict[str, Any]] = []
    if FILE.exists():
        with FILE.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.DictReader(stream))
    done = {tuple(line[key] for key in COLUMNS[:4]) for line in lines}
    for graph in (*graphs(asked.graphs), *few(asked.graphs), *towns(asked.towns)):
        if time.monotonic() - start > 60 * asked.minutes:
            break
        begun = time.monotonic()
        new = measured(graph, done)
        if not new:
            continue
        lines += [{key: shown(line[key]) for key in COLUMNS} for line in new]
        print(f"{graph.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        with FILE.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)


def shown(value: Any) -> str:
    """A value as the file has it."""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
