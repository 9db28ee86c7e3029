"""Scores of attributes from tables of classes and bins: mutual information and chi-square."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphveil.checks import check_whole
from graphveil.learn.denoised import Denoised
from graphveil.learn.known import Known

Scores = NDArray[np.float64]
BINS = 10


def mutual_information_scores(values: Denoised, known: Known, bins: int = BINS) -> Scores:
    """Σ p(c, b) log (p(c, b) / p(c) p(b)) over classes c and bins b of each attribute, in nats, among training users."""

    def information(observed: Scores, expected: Scores) -> Scores:
        ratio = np.divide(observed, expected, out=np.ones_like(observed), where=observed > 0)
        total: Scores = (observed * np.log(ratio)).sum((0, 1)) / observed[..., 0].sum()
        return np.maximum(total, 0)

    return _scores(values, known, bins, information)


def chi_square_scores(values: Denoised, known: Known, bins: int = BINS) -> Scores:
    """Pearson's χ² = Σ (O - E)² / E of the table of classes and bins of each attribute, among training users."""

    def statistic(observed: Scores, expected: Scores) -> Scores:
        squares = (observed - expected) ** 2
        total: Scores = np.divide(squares, expected, out=np.zeros_like(squares), where=expected > 0).sum(
            (0, 1)
        )
        return total

    return _scores(values, known, bins, statistic)


def class_tables(values: Denoised, known: Known, bins: int = BINS) -> Iterator[tuple[int, Scores]]:
    """For each block of columns: the first, and how many training users are of each class in each bin (class x bin x column).

    Bin k of an attribute ends with its value of rank ⌈nk/bins⌉ among the n training users, that value included. So equal
    values share a bin, and bins can be empty.
    """
    check_whole(bins, "bins", least=2)
    users = known.train_users
    ranks = [math.ceil(len(users) * k / bins) - 1 for k in range(1, bins)]
    labels = torch.from_numpy(known.labels[users]).to(values.device)
    # Counts are exact in single precision up to 2^24 users.
    members = functional.one_hot(labels, known.class_count).float()
    everyone = members.sum(0)[:, None]
    is_above = torch.empty(0)
    for first, block in values.blocks(users):
        if is_above.shape != block.shape:
            is_above, room = torch.empty_like(block), np.empty(tuple(block.shape)[::-1], dtype=np.float32)
        ends = _ranked(block, ranks, room)
        above = [members.T @ torch.gt(block, end, out=is_above) for end in ends]
        counts = torch.stack([everyone.expand_as(above[0]), *above, torch.zeros_like(above[0])], 1)
        yield first, (counts[:, :-1] - counts[:, 1:]).double().cpu().numpy()


def _ranked(block: Tensor, ranks: list[int], room: NDArray[np.float32]) -> list[Tensor]:
    """The values of these ranks in every column; they are sorted in the room given."""
    np.copyto(room, block.cpu().numpy().T)
    room.sort(axis=1)
    return [torch.from_numpy(room[:, rank].copy()).to(block) for rank in ranks]


def _scores(values: Denoised, known: Known, bins: int, score: Callable[[Scores, Scores], Scores]) -> Scores:
    """One score an attribute, from the table that is observed and the one that independence lets expect."""
    scores = np.zeros(values.shape[1])
    for first, observed in class_tables(values, known, bins):
        of_class, of_bin = observed.sum(1, keepdims=True), observed.sum(0, keepdims=True)
        of_block = score(observed, of_class * of_bin / observed[..., 0].sum())
        scores[first : first + observed.shape[2]] = of_block
    return scores
