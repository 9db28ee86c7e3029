"""Figures of one run, by name: for `Result.plot(file, kind)` and for `graphveil plot`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.experiments.runs.figures import register_figure
from graphveil.experiments.runs.format import budget
from graphveil.experiments.runs.predictions import predicted_classes
from graphveil.experiments.runs.result import Result
from graphveil.experiments.runs.unit import Ready
from graphveil.experiments.show.confusion import class_scores_drawing, confusion_drawing
from graphveil.experiments.show.figure import Drawing, check_figure
from graphveil.experiments.show.layout import close_group, flat_map, spring_layout
from graphveil.experiments.show.training_figure import training_drawing
from graphveil.experiments.show.user_pictures import graph_drawing, map_drawing
from graphveil.experiments.specs.spec import Spec
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.methods.outcome import Outcome

# More users could not be told apart.
MOST_DRAWN, MOST_ON_MAP = 240, 1000
Draw = Callable[[Spec, Ready, Outcome], Drawing]


def confusion(spec: Spec, ready: Ready, outcome: Outcome) -> Drawing:
    """Which classes are taken for which."""
    chosen = predicted_classes(outcome, several=ready.graph.multilabel)
    return confusion_drawing(ready.users.confusion(chosen, ready.graph), _title(spec))


def classes(spec: Spec, ready: Ready, outcome: Outcome) -> Drawing:
    """Precision, recall and F1 of each class."""
    chosen = predicted_classes(outcome, several=ready.graph.multilabel)
    return class_scores_drawing(ready.users.per_class(chosen, ready.graph), _title(spec))


def graph(spec: Spec, ready: Ready, outcome: Outcome) -> Drawing:
    """Some users who know each other, with truth and prediction."""
    _one_class(ready)
    who = close_group(ready.graph, MOST_DRAWN, spec.seed)
    place = np.full(ready.graph.node_count, -1)
    place[who] = np.arange(len(who))
    pairs = place[ready.graph.pairs()].T
    pairs = pairs[:, (pairs >= 0).all(axis=0)]
    # A simulation holds the truth of everybody, and no server code is given it.
    truth = np.asarray(ready.users.raw.labels)[who]
    given = predicted_classes(outcome, several=False)[who]
    return graph_drawing(spring_layout(pairs, len(who), spec.seed), pairs, truth, given, _title(spec))


def user_map(spec: Spec, ready: Ready, outcome: Outcome) -> Drawing:
    """A map of what was learned of each user, by the class that was predicted."""
    _one_class(ready)
    if outcome.embedding is None:
        raise InputError(f"{spec.method} learns no row of numbers for each user: there is nothing to map")
    given = predicted_classes(outcome, several=False)
    return _map(spec, outcome.embedding, given, "by predicted class")


def embedding_map(spec: Spec, values: NDArray[np.floating], known: Graph) -> Drawing:
    """A map of an embedding, by the classes that its server knew: of users with several labels, and of links, it knew none."""
    if known.multilabel or not (known.labels >= 0).any():
        return _map(spec, values, None, "no class is known")
    return _map(spec, values, known.labels, "by known class")


def _map(spec: Spec, values: NDArray[np.floating], classes: NDArray[np.int64] | None, words: str) -> Drawing:
    count = len(values)
    drawn = np.random.default_rng(spec.seed).permutation(count)[: min(count, MOST_ON_MAP)]
    places = flat_map(values[drawn], spec.seed % 2**32)
    title = f"{_title(spec)}: t-SNE, {words}"
    return map_drawing(places, np.full(len(drawn), UNKNOWN) if classes is None else classes[drawn], title)


def training(spec: Spec, ready: Ready, outcome: Outcome) -> Drawing:
    """How training went."""
    if outcome.curve is None:
        raise InputError(f"{spec.method} keeps no curve of its training: draw that of base, lpgnn or upgnet")
    return training_drawing(outcome.curve, _title(spec))


RUN_FIGURES: dict[str, Draw] = {
    "confusion": confusion,
    "classes": classes,
    "graph": graph,
    "map": user_map,
    "training": training,
}


def _title(spec: Spec) -> str:
    epsilon = spec.budgets.epsilon
    return f"{spec.method} on {Path(spec.data).stem}" + ("" if epsilon is None else f", {budget(epsilon)}")


def _one_class(ready: Ready) -> None:
    if ready.graph.multilabel:
        raise InputError(
            "users have several labels each, so they cannot be coloured by one: draw the classes"
        )


def _of_result(draw: Draw) -> Callable[[Result, Path], None]:
    def drawn(result: Result, file: Path) -> None:
        check_figure(file)
        draw(result.spec, *result.learned(0)).write(file)

    return drawn


for _name, _draw in RUN_FIGURES.items():
    register_figure(_name)(_of_result(_draw))
