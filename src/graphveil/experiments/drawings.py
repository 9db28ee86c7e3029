"""Drawings that are no charts: of one run, by name, for `Result.plot(file, kind)` and `graphveil plot`; and of what a mechanism answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment, Part
from graphveil.experiments.figure import (
    FAINT,
    HEIGHT,
    INK,
    LINES,
    MARKS,
    METHOD,
    RULE,
    TEXT_SIZE,
    TITLE_SIZE,
    WIDTH,
    Drawing,
    Role,
    band,
    line_style,
)
from graphveil.experiments.unit import PARTS, OpenUnit, predicted_classes
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.mechanisms.registry import load_entry
from graphveil.methods.tasks import Outcome
from graphveil.number_format import budget
from graphveil.statistics import t_interval

# t-SNE's perplexity, where there are enough users for it.
PERPLEXITY = 30.0


def close_group(graph: Graph, most: int, seed: int) -> NDArray[np.int64]:
    """Return a group of linked users, as their sorted numbers, (m,) int64.

    It always adds the user with the largest share of links into the group.

    Parameters
    ----------
    graph
        The graph.
    most
        The largest number of users.
    seed
        Draws where it starts, among the users of the largest degree.
    """
    count = graph.node_count
    most = min(most, count)
    inside, links = np.zeros(count, dtype=bool), np.zeros(count)
    user = int(np.random.default_rng(seed).choice(np.flatnonzero(graph.degrees == graph.degrees.max())))
    chosen: list[int] = []
    degrees = np.maximum(graph.degrees, 1)
    while True:
        chosen.append(user)
        inside[user] = True
        links[graph.indices[graph.indptr[user] : graph.indptr[user + 1]]] += 1
        if len(chosen) == most:
            return np.array(sorted(chosen), dtype=np.int64)
        user = int(np.where(inside, -1.0, links / degrees).argmax())


def spring_layout(pairs: NDArray[np.int64], count: int, seed: int) -> NDArray[np.float64]:
    """Return a layout of users by Fruchterman and Reingold (1991), (count, 2) float64.

    Parameters
    ----------
    pairs
        The links, (2, links) int64.
    count
        The number of users.
    """
    import networkx

    graph = networkx.empty_graph(count)
    graph.add_edges_from(pairs.T.tolist())
    places = networkx.spring_layout(graph, seed=seed)
    return np.array([places[user] for user in range(count)])


def flat_map(rows: NDArray[np.floating], seed: int) -> NDArray[np.float64]:
    """Return rows of numbers brought to two by t-SNE (van der Maaten and Hinton, 2008): near ones stay near."""
    from sklearn.manifold import TSNE

    perplexity = min(PERPLEXITY, max((len(rows) - 1) / 3, 1.0))
    method = TSNE(
        2, perplexity=perplexity, init="pca" if min(rows.shape) > 1 else "random", random_state=seed
    )
    return np.asarray(method.fit_transform(np.asarray(rows, dtype=np.float64)), dtype=np.float64)


# Of more classes the numbers in the cells could not be read.
MOST_NUMBERS = 12
# How strongly a cell is coloured whose share is all of its row.
STRONGEST = 0.75
# More users could not be told apart.
MOST_DRAWN, MOST_ON_MAP = 240, 1000
RunFigure = Callable[[OpenUnit, Outcome], Drawing]
Classes = NDArray[np.int64]


def confusion_figure(ready: OpenUnit, outcome: Outcome) -> Drawing:
    """Draw test users of each class (rows) by the class that they were given (columns): shares of rows as shades, in percent."""
    chosen = predicted_classes(outcome, ready.graph)
    counts = ready.users.confusion(chosen, ready.graph)
    count = len(counts)
    have = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(have, 1)
    drawing = Drawing((WIDTH, WIDTH * 0.9))
    axes = drawing.axes[0]
    axes.grid(visible=False)
    for true, given in np.ndindex(counts.shape):
        share = float(shares[true, given])
        axes.barh(true, 1, 1, given - 0.5, color=METHOD.day, alpha=STRONGEST * share, linewidth=0)
        if count <= MOST_NUMBERS:
            style = {"fontsize": TEXT_SIZE, "weight": "bold" if true == given else "normal"}
            axes.text(given, true, f"{100 * share:.0f}", ha="center", va="center", **style)
    axes.set_xticks(range(count), [str(name) for name in range(count)])
    axes.set_yticks(range(count), [f"{name} ({users:,})" for name, users in enumerate(have[:, 0])])
    axes.set_xlim(-0.5, count - 0.5)
    axes.set_ylim(count - 0.5, -0.5)
    title = f"{_title(ready.unit.spec)}: percent of each class"
    drawing.label(title, "class that was given", "true class (test users)")
    return drawing


def class_figure(ready: OpenUnit, outcome: Outcome) -> Drawing:
    """Draw precision, recall and F1 of each class, one line a class; what is not defined is left out."""
    chosen = predicted_classes(outcome, ready.graph)
    scores = ready.users.per_class(chosen, ready.graph)
    if not scores:
        raise InputError("there are no classes to draw")
    drawing = Drawing((WIDTH, 1.5 + 0.36 * len(scores)))
    axes = drawing.axes[0]
    kinds = (("precision", "<"), ("recall", ">"), ("F1", "o"))
    for (kind, mark), tone in zip(kinds, LINES, strict=False):
        values = [(place, getattr(score, kind.lower())) for place, score in enumerate(scores)]
        known = [(100 * value, place) for place, value in values if value is not None] or [(math.nan, 0)]
        axes.plot(*zip(*known, strict=True), mark, color=tone.day, markersize=8, label=kind)
    axes.set_yticks(range(len(scores)), [f"{score.number} ({score.have:,})" for score in scores])
    axes.set_ylim(len(scores) - 0.5, -0.5)
    axes.set_xlim(-2, 102)
    axes.axvline(100, color=INK.day, linewidth=0.8)
    drawing.label(_title(ready.unit.spec), "percent of test users", "class (users)")
    drawing.legend(columns=3)
    return drawing


def graph_figure(ready: OpenUnit, outcome: Outcome) -> Drawing:
    """Draw some users who know each other, with truth and prediction; a wrong prediction has a ring."""
    _check_one_class(ready)
    who = close_group(ready.graph, MOST_DRAWN, ready.unit.seed)
    place = np.full(ready.graph.node_count, -1)
    place[who] = np.arange(len(who))
    pairs = place[ready.graph.pairs()].T
    pairs = pairs[:, (pairs >= 0).all(axis=0)]
    places = spring_layout(pairs, len(who), ready.unit.seed)
    # A simulation holds the truth of everybody, and no server code is given it.
    truth = np.asarray(ready.users.raw.labels)[who]
    predicted = predicted_classes(outcome, ready.graph)[who]
    wrong = truth != predicted
    drawing = Drawing((1.6 * WIDTH, 0.85 * WIDTH), 2, shared=False)
    titles = (f"{_title(ready.unit.spec)}: truth", f"predicted, {int(wrong.sum())} of {len(truth)} wrong")
    for axes, classes, title in zip(drawing.axes, (truth, predicted), titles, strict=True):
        # One line that is broken between links: many lines would make a large file.
        links = np.full((pairs.shape[1], 3, 2), np.nan)
        links[:, :2] = places[pairs].transpose(1, 0, 2)
        axes.plot(links[:, :, 0].ravel(), links[:, :, 1].ravel(), color=RULE.day, linewidth=0.5, zorder=1)
        _dots(axes, places, classes, 20)
        axes.set_title(title, fontsize=TITLE_SIZE)
        _hide_directions(axes)
    if wrong.any():
        ring = {"facecolors": "none", "edgecolors": INK.day, "linewidths": 1.2}
        drawing.axes[1].scatter(places[wrong, 0], places[wrong, 1], 55, label="wrong", zorder=3, **ring)
    drawing.legend(columns=8)
    return drawing


def map_figure(ready: OpenUnit, outcome: Outcome) -> Drawing:
    """Draw a map of what was learned of each user, by predicted class."""
    _check_one_class(ready)
    if outcome.embedding is None:
        raise InputError(f"{ready.unit.spec.method} learns no embedding of users: there is nothing to map")
    return _map(
        ready.unit.spec, outcome.embedding, predicted_classes(outcome, ready.graph), "by predicted class"
    )


def embedding_map(spec: Experiment, values: NDArray[np.floating], known: Graph) -> Drawing:
    """Draw a map of an embedding, coloured by the classes that its server knew.

    Parameters
    ----------
    values
        The embedding, (n, dims).
    known
        The graph with the labels that the server knew; none are shown if users have several labels.
    """
    if known.multilabel or not (known.labels >= 0).any():
        return _map(spec, values, np.full(len(values), UNKNOWN), "no class is known")
    return _map(spec, values, known.labels, "by known class")


def _map(spec: Experiment, values: NDArray[np.floating], classes: Classes, words: str) -> Drawing:
    """Draw users by class; those whose class is not known are pale, below the others."""
    shown = np.random.default_rng(spec.seed).permutation(len(values))[:MOST_ON_MAP]
    drawing = Drawing((WIDTH, 0.9 * WIDTH))
    axes = drawing.axes[0]
    _dots(axes, flat_map(values[shown], spec.seed % 2**32), classes[shown], 16)
    drawing.label(f"{_title(spec)}: t-SNE, {words}")
    _hide_directions(axes)
    drawing.legend(columns=6)
    return drawing


def _dots(axes: Any, places: NDArray[np.float64], classes: Classes, size: float) -> None:
    for number in np.unique(classes).tolist():
        of, known = classes == number, number != UNKNOWN
        axes.scatter(
            places[of, 0],
            places[of, 1],
            size if known else size / 2,
            color=(LINES[number % len(LINES)] if known else RULE).day,
            marker=MARKS[number % len(MARKS) if known else 0],
            linewidths=0,
            label=f"class {number}" if known else "class not known",
            zorder=2 if known else 1,
        )


def _hide_directions(axes: Any) -> None:
    """Draw a frame without ticks, as directions mean nothing here."""
    axes.grid(visible=False)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
        spine.set_color(FAINT.day)
        spine.set_linewidth(0.6)


def training_figure(ready: OpenUnit, outcome: Outcome) -> Drawing:
    """Draw training and validation loss, and the score on validation users of each epoch that was the best so far."""
    curve = outcome.curve
    if curve is None:
        raise InputError(f"{ready.unit.spec.method} keeps no training curve: draw that of base or upgnet")
    drawing = Drawing((1.6 * WIDTH, HEIGHT), 2, shared=False)
    losses, scores = drawing.axes
    epochs = range(1, len(curve.validation) + 1)
    losses.plot(epochs, curve.validation, label="validation loss", **line_style("method", flat=True))
    if curve.training:
        epochs = range(1, len(curve.training) + 1)
        losses.plot(epochs, curve.training, label="training loss", **line_style("control", flat=True))
    best, reached = zip(*curve.better, strict=True)
    scores.step(
        [epoch + 1 for epoch in best] + [len(curve.validation)],
        [100 * score for score in (*reached, reached[-1])],
        where="post",
        label="score of the best epoch so far",
        **line_style("method", 1, flat=True),
    )
    for axes in drawing.axes:
        axes.axvline(best[-1] + 1, color=FAINT.day, linestyle=":", label="the epoch that was taken")
        axes.set_xlabel("epoch")
    losses.set_ylabel("loss")
    scores.set_ylabel("validation users (%)")
    losses.set_title(_title(ready.unit.spec), fontsize=TITLE_SIZE)
    drawing.legend(columns=4)
    return drawing


RUN_FIGURES: dict[str, RunFigure] = {
    "confusion": confusion_figure,
    "classes": class_figure,
    "graph": graph_figure,
    "map": map_figure,
    "training": training_figure,
}


def score_figure(spec: Experiment, metric: str, scores: Mapping[Part, Sequence[float]]) -> Drawing:
    """Draw the mean score of each part of an experiment with its 95% interval, and a mark for each run.

    Parameters
    ----------
    metric
        The name of the score.
    scores
        The scores of the runs of each part, 0..1.
    """
    drawing = Drawing((WIDTH, 1.2 + 0.5 * len(scores)))
    (axes,) = drawing.axes
    for place, (part, runs) in enumerate(scores.items()):
        role: Role = "no privacy" if part == "method" and spec.budgets.epsilon is None else part
        colour = line_style(role)["color"]
        (low,), (mean,), (high,) = band([t_interval(runs)])
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot([100 * score for score in runs], [place] * len(runs), "|", color=colour, markersize=9)
        axes.plot([mean], [place], "o", color=colour, markersize=8)
    own = spec.method if spec.budgets.epsilon is None else f"{spec.method}, {budget(spec.budgets.epsilon)}"
    axes.set_yticks(range(len(scores)), [PARTS[part].title or own for part in scores])
    axes.set_ylim(len(scores) - 0.5, -0.5)
    drawing.label(f"{spec.method} on {spec.data}", f"{metric} (%), with 95% intervals")
    return drawing


def _title(spec: Experiment) -> str:
    epsilon = spec.budgets.epsilon
    return f"{spec.method} on {Path(spec.data).stem}" + ("" if epsilon is None else f", {budget(epsilon)}")


def _check_one_class(ready: OpenUnit) -> None:
    if ready.graph.multilabel:
        raise InputError("users have several labels each and cannot be coloured by one: draw the classes")


# What is drawn where nobody says otherwise: one value of a row, one of so many classes, levels or users.
EPSILON, CLASSES, LEVELS, USERS = 1.0, 4, 4, 2
SETTINGS: dict[str, dict[str, Any]] = {
    "features": {"dims": 1, "range": (0.0, 1.0)},
    "label": {"classes": CLASSES},
    "level": {"levels": LEVELS},
    "links": {"dims": USERS},
}
# So many outputs get a bar each; more are counted in as many intervals of equal length.
MOST_BARS, INTERVALS = 12, 40
# Of answers without an end, so many in both tails together are counted in the last intervals.
TAILS = 0.005
INPUTS = 3


def mechanism_drawing(name: str, epsilon: float = EPSILON) -> Drawing:
    """Draw what a mechanism by name answers at a budget, for the smallest, the middle and the largest input."""
    entry = load_entry(name)
    built = entry.build(epsilon=epsilon, **SETTINGS[entry.subject])
    if not built.finite or not built.answers:
        raise InputError(
            f"{name} has no finite table to draw: take one of which `graphveil audit` says an exact ε"
        )
    channel = built.answers[0].channel
    drawing = Drawing((WIDTH, HEIGHT))
    axes = drawing.axes[0]
    symbols = sorted({0, (channel.input_count - 1) // 2, channel.input_count - 1})[:INPUTS]
    shares = {
        symbol: np.array([count / channel.total for count in channel.row(symbol)]) for symbol in symbols
    }
    few = channel.output_count <= MOST_BARS
    (_bars if few else _intervals)(axes, channel, shares)
    axes.set_ylim(bottom=0)
    title = f"{entry.name} at {budget(epsilon)}: what one answer can be"
    drawing.label(
        title, "answer, decoded", "percent of answers" + ("" if few else f", in {INTERVALS} intervals")
    )
    drawing.legend(columns=INPUTS)
    return drawing


def _bars(axes: Any, channel: FiniteChannel, shares: dict[int, NDArray[np.float64]]) -> None:
    wide = 0.8 / len(shares)
    places = np.arange(channel.output_count)
    for place, (symbol, row) in enumerate(shares.items()):
        axes.bar(
            places + (place - (len(shares) - 1) / 2) * wide,
            100 * row,
            wide,
            color=line_style("method", place)["color"],
            label=_held(channel, symbol),
        )
    axes.set_xticks(places, [f"{value:.3g}" for value in channel.outputs])
    axes.grid(visible=False, axis="x")


def _intervals(axes: Any, channel: FiniteChannel, shares: dict[int, NDArray[np.float64]]) -> None:
    order = np.argsort(channel.outputs, kind="stable")
    outputs = channel.outputs[order]
    ends = [_middle(outputs, row[order]) for row in shares.values()]
    edges = np.linspace(min(low for low, _ in ends), max(high for _, high in ends), INTERVALS + 1)
    # An output stands for what is nearer to it than to its neighbours, and its answers are spread over that.
    between = (outputs[1:] + outputs[:-1]) / 2
    cells = np.concatenate([[2 * outputs[0] - between[0]], between, [2 * outputs[-1] - between[-1]]])
    for place, (symbol, row) in enumerate(shares.items()):
        counted = spread(row[order], cells, edges)
        colour = line_style("method", place)["color"]
        axes.stairs(100 * counted, edges, color=colour, linewidth=2, label=_held(channel, symbol))


def spread(
    row: NDArray[np.float64], cells: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the share of a row in each interval between ``edges``; the first and last include the rest.

    Parameters
    ----------
    row
        Probabilities of the cells, (m,) float64.
    cells
        The bounds of the cells, (m + 1,) float64.
    edges
        The bounds of the intervals, (k + 1,) float64.
    >>> spread(np.array([0.5, 0.5]), np.array([0.0, 1.0, 2.0]), np.array([0.0, 0.5, 1.5])).tolist()
    [0.25, 0.75]
    """
    below = np.interp(edges, cells, np.concatenate([[0.0], np.cumsum(row)]))
    below[0], below[-1] = 0.0, row.sum()
    return np.diff(below)


def _held(channel: FiniteChannel, symbol: int) -> str:
    """An input by its value; what is 0 but for rounding is 0."""
    return f"held: {round(float(channel.inputs[symbol]), 9) + 0.0:.3g}"


def _middle(outputs: NDArray[np.float64], row: NDArray[np.float64]) -> tuple[float, float]:
    """Return the range that holds all but the tails of a row."""
    below = np.cumsum(row)
    first = int(np.searchsorted(below, TAILS / 2))
    last = int(np.searchsorted(below, 1 - TAILS / 2))
    low, high = float(outputs[first]), float(outputs[min(last, len(outputs) - 1)])
    return (low, high) if high > low else (low - 0.5, math.nextafter(low + 0.5, math.inf))
