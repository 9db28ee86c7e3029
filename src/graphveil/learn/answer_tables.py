"""What an answer about a class says of somebody's class: how often each answer comes, by where the class stands in the list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

# A bin of certainty has a table of its own where so many users judge it, and there are no more bins than this.
USERS_A_BIN, MOST_BINS = 250, 6
# So many users' worth a table counts beforehand: the pooled one as flat, those of bins as the pooled one.
STRENGTH = 20.0
# Rounds in which tables are fitted to labels that were reported.
ROUNDS = 30


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked of some users and answered by them: lists of classes (users x K), and the place that each reported.

    ``certainty`` is how likely the likeliest class of each was; ``least`` is what any answer has for a chance by the channel.
    """

    users: Whole
    lists: Whole
    places: Whole
    certainty: Floats
    least: float

    def ranks(self, classes: int) -> Whole:
        """Where each class stands in each list (users x classes); K where it does not."""
        ranks = np.full((len(self.users), classes), self.lists.shape[1])
        np.put_along_axis(ranks, self.lists, np.arange(self.lists.shape[1])[None, :], axis=1)
        return ranks


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers beside the classes that they may tell of: ``answers`` are places among those asked, ``likely`` what is known of
    each class (pairs x classes: a 1 where it is known, else the chances that a report leaves), ``folds`` 0 or 1."""

    answers: Whole
    likely: Floats
    folds: Whole


def class_evidence(
    asked: Asked, judged: Judged, classes: int, told: Asked | None = None
) -> tuple[Floats, Floats]:
    """How likely each class makes the answer that came, as logarithms (users asked x classes) around 0, for each fold.

    The first are those by tables of the other fold's judges and of everybody's where ``fold`` says nothing: three such matrices,
    stacked: by judges of fold 1 (for users of fold 0), by those of fold 0 (for fold 1), and by all of them. ``told`` are the
    answers that are judged, where these are not all among those that are to be decoded.
    """
    told = asked if told is None else told
    edges = _edges(told.certainty[judged.answers])
    ranks, bins = asked.ranks(classes), _bins(asked.certainty, edges)
    told_ranks, told_bins = told.ranks(classes), _bins(told.certainty, edges)

    def decoded(chosen: Whole) -> Floats:
        tables = _tables(told, judged, chosen, told_ranks, told_bins, len(edges) + 1)
        return _evidence(asked, ranks, bins, tables)

    by_fold = [decoded(np.flatnonzero(judged.folds != fold)) for fold in (0, 1)]
    return np.stack(by_fold), decoded(np.arange(len(judged.answers)))


def _edges(judges: Floats) -> Floats:
    """What divides certainties into bins that have about as many judges each."""
    count = int(np.clip(len(judges) // USERS_A_BIN, 1, MOST_BINS))
    return np.unique(np.quantile(judges, np.arange(1, count) / count)) if count > 1 else np.empty(0)


def _bins(certainty: Floats, edges: Floats) -> Whole:
    """The bin of certainty of each user."""
    return np.searchsorted(edges, certainty, side="right").astype(np.int64)


def _evidence(asked: Asked, ranks: Whole, bins: Whole, tables: Floats) -> Floats:
    told = np.log(tables[bins[:, None], ranks, asked.places[:, None]])
    centred: Floats = told - told.mean(axis=1, keepdims=True)
    return centred


def _tables(asked: Asked, judged: Judged, chosen: Whole, ranks: Whole, bins: Whole, count: int) -> Floats:
    """P(place | rank) for each bin (bins x ranks x places), by expectation and maximisation where classes are not certain."""
    width = asked.lists.shape[1]
    answers, likely = judged.answers[chosen], judged.likely[chosen]
    own_ranks, own_places, own_bins = ranks[answers], asked.places[answers], bins[answers]
    certain = bool(((likely == 0) | (likely == 1)).all())
    tables = np.full((count, width + 1, width), 1 / width)
    for _ in range(1 if certain else ROUNDS):
        chances = likely * tables[own_bins[:, None], own_ranks, own_places[:, None]]
        chances /= np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)
        places = (own_bins[:, None] * (width + 1) + own_ranks) * width + own_places[:, None]
        counts = np.bincount(places.ravel(), chances.ravel(), minlength=tables.size).reshape(tables.shape)
        pooled = counts.sum(axis=0) + STRENGTH / width
        pooled /= pooled.sum(axis=1, keepdims=True)
        tables = counts + STRENGTH * pooled
        tables /= tables.sum(axis=2, keepdims=True)
        tables = np.maximum(tables, asked.least)
        tables /= tables.sum(axis=2, keepdims=True)
    return tables
