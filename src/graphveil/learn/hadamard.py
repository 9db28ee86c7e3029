"""Hadamard features and logistic regression: how LDP-GE tells from two embeddings whether their users are linked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.links import KnownLinks, LinkPairs, Pairs
from graphveil.graphs.metrics import area_under_curve
from graphveil.linear.wide_products import weighted_products, weights_gradient

Rows = NDArray[np.float32]
# Shares of the score that the public columns may start with: chosen by the validation pairs.
PUBLIC_SHARES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
# So many training links make an epoch at most: all columns of all links of a large graph would take minutes.
LINKS_AN_EPOCH = 20_000
LINKS_A_STEP = 1024
# Adam's own constants (Kingma and Ba 2015).
DECAY, DECAY_SQUARES, TINY = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class LinkSchedule:
    """How to train the weights. The rate is a share of what a weight starts with."""

    epochs: int = 10
    lr: float = 0.01
    patience: int = 3


@dataclass(frozen=True)
class FittedLinks:
    """The weights that are best on the validation pairs, and the area under the curve there."""

    weights: Rows
    auc: float


def fit_links(
    rows: Rows,
    public: int,
    links: KnownLinks,
    schedule: LinkSchedule,
    seed: int,
    progress: Callable[[int, int, float], None] | None = None,
) -> FittedLinks:
    """Weights w of the score Σ_j w_j z_uj z_vj, by the pairwise loss log(1 + e^-(linked - unlinked)) (Wang et al. 2021).

    ``rows`` has a row z a user (n x k), and so there are k weights. All columns of reports start alike, so that the score
    is the inner product of two embeddings; the last ``public`` columns start with the share of it that is best on the
    validation pairs. Training links are edges of the graph that rows were propagated over, and so look more alike than
    links that are not known; the epoch that is best on validation pairs, which are no edges, is taken, the start
    included.
    """
    weights = _start(rows, public, links.validation)
    best = FittedLinks(weights, _auc(rows, weights, links.validation))
    if schedule.epochs == 0:
        return best
    scale = max(_spread(rows, weights, links.train), TINY)
    start = weights / scale
    weights, rate = start.copy(), schedule.lr * float(np.abs(start).mean())
    mean, squares, step, since = np.zeros_like(weights), np.zeros_like(weights), 0, 0
    for epoch in range(schedule.epochs):
        for linked, unlinked in _batches(links.train, [seed, epoch]):
            slopes = _slopes(rows, weights, linked, unlinked)
            gradient = weights_gradient(rows, linked, slopes) - weights_gradient(rows, unlinked, slopes)
            step += 1
            mean = DECAY * mean + (1 - DECAY) * gradient
            squares = DECAY_SQUARES * squares + (1 - DECAY_SQUARES) * gradient**2
            size = np.sqrt(squares / (1 - DECAY_SQUARES**step)) + TINY
            weights = (weights - rate * mean / (1 - DECAY**step) / size).astype(np.float32)
        auc = _auc(rows, weights, links.validation)
        best, since = (FittedLinks(weights, auc), 0) if auc > best.auc else (best, since + 1)
        if progress is not None:
            progress(epoch + 1, schedule.epochs, 1 - auc)
        if since == schedule.patience:
            break
    return best


def _start(rows: Rows, public: int, validation: LinkPairs) -> Rows:
    """Equal weights for the reports' columns, and the best of a few for the public ones."""
    width = rows.shape[1]
    own, shared = np.ones(width, dtype=np.float32), np.ones(width, dtype=np.float32)
    own[width - public :] = 0
    shared[: width - public] = 0
    if not public:
        return own
    mixed, linked = validation.mixed(0)
    reported, known = weighted_products(rows, mixed, own), weighted_products(rows, mixed, shared)
    size = np.std(reported) / max(float(np.std(known)), TINY)
    areas = {share: area_under_curve(reported + share * size * known, linked) for share in PUBLIC_SHARES}
    share = max(areas, key=lambda share: areas[share])
    return (own + share * size * shared).astype(np.float32)


def _batches(pairs: LinkPairs, seed: list[int]) -> Iterator[tuple[Pairs, Pairs]]:
    """An epoch of links, each beside a pair that is none, in random order."""
    random = np.random.default_rng(seed)
    orders = (random.permutation(len(side))[:LINKS_AN_EPOCH] for side in (pairs.linked, pairs.unlinked))
    first, second = orders
    for place in range(0, len(first), LINKS_A_STEP):
        part = slice(place, place + LINKS_A_STEP)
        yield pairs.linked[first[part]], pairs.unlinked[second[part]]


def _slopes(rows: Rows, weights: Rows, linked: Pairs, unlinked: Pairs) -> Rows:
    """How the mean loss of these comparisons changes with their differences."""
    gaps = weighted_products(rows, linked, weights) - weighted_products(rows, unlinked, weights)
    slopes: Rows = (-1 / (1 + np.exp(np.minimum(gaps, 80))) / len(gaps)).astype(np.float32)
    return slopes


def _spread(rows: Rows, weights: Rows, pairs: LinkPairs) -> float:
    """The standard deviation of scores of training pairs."""
    some = np.concatenate([side[:LINKS_A_STEP] for side in (pairs.linked, pairs.unlinked)])
    return float(np.std(weighted_products(rows, some, weights)))


def _auc(rows: Rows, weights: Rows, pairs: LinkPairs) -> float:
    mixed, linked = pairs.mixed(0)
    return area_under_curve(weighted_products(rows, mixed, weights), linked)
