"""Splits: which users train, validate and test, and the recipes that draw them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.sampling import MAX_SEED
from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.graphs.graph import Mask, labelled

# The documents' split: half of the users train, a quarter validates, a quarter tests.
TRAIN_SHARE, VALIDATION_SHARE = 0.5, 0.25
# The usual few-label split of citation graphs (Yang et al. 2016).
PER_CLASS, VALIDATION_COUNT = 20, 500
PARTS = ("train", "validation", "test")

Labels = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Three masks that do not overlap. Users whose label nobody knows are in none of them."""

    train: Mask
    validation: Mask
    test: Mask

    def __post_init__(self) -> None:
        for name in PARTS:
            mask = np.array(getattr(self, name), dtype=bool)
            mask.setflags(write=False)
            object.__setattr__(self, name, mask)
        if not self.train.shape == self.validation.shape == self.test.shape:
            raise InputError("train, validation and test masks must have the same length")
        if (self.train & self.validation).any() or (self.test & (self.train | self.validation)).any():
            raise InputError("a user may be in one of train, validation and test only: the masks overlap")


class SplitRecipe(ABC):
    """A way to draw splits: the same labels and seed give the same split, another seed the next one."""

    reads_labels: ClassVar[bool] = True
    """Whether who trains depends on what label a user has, so that the split tells something of it. A recipe of one's own
    that looks at who has a label and no further may say False."""

    @abstractmethod
    def draw(self, labels: Labels, seed: int) -> Split:
        """The split of that seed."""


@dataclass(frozen=True)
class RandomSplit(SplitRecipe):
    """By shares, at random over all users with a label, whatever it is; what is left tests."""

    train: float = TRAIN_SHARE
    validation: float = VALIDATION_SHARE
    reads_labels: ClassVar[bool] = False

    def draw(self, labels: Labels, seed: int) -> Split:
        check_split_shares(self.train, self.validation)
        order = _shuffled(labels, seed, 1)
        first = round(self.train * len(order))
        second = first + round(self.validation * len(order))
        return _masks(labels, order[:first], order[first:second], order[second:])


@dataclass(frozen=True)
class FewLabelSplit(SplitRecipe):
    """The same small number of training users of each class: those who train are chosen by their labels.

    Users with several labels each are of no one class, and are refused.
    """

    per_class: int = PER_CLASS
    validation: int = VALIDATION_COUNT

    def draw(self, labels: Labels, seed: int) -> Split:
        if labels.ndim == 2:
            one = f"choose one label with label=0..{labels.shape[1] - 1}"
            raise InputError(f"split='few' needs one label a user: take split='random', or {one}")
        count = check_whole(self.per_class, "per_class", least=1)
        held = check_whole(self.validation, "validation", least=1)
        order = _shuffled(labels, seed, 2)
        # A stable sort by class keeps the random order within each class.
        by_class = order[np.argsort(labels[order], kind="stable")]
        classes, starts, counts = np.unique(labels[by_class], return_index=True, return_counts=True)
        short = classes[counts < count]
        if short.size:
            raise InputError(f"class {int(short[0])} has fewer than {count} users: ask for fewer a class")
        train_users = by_class[(starts[:, None] + np.arange(count)).ravel()]
        rest = order[~np.isin(order, train_users)]
        if len(rest) <= held:
            raise InputError(f"validation must be below {len(rest)}, who do not train, got {held}")
        return _masks(labels, train_users, rest[:held], rest[held:])


@dataclass(frozen=True, eq=False)
class GivenSplit(SplitRecipe):
    """Masks that came with the data: one split (n) or several (splits x n), of which seed i takes the i-th, in turns."""

    train: Mask
    validation: Mask
    test: Mask
    reads_labels: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in PARTS:
            object.__setattr__(self, name, np.atleast_2d(np.array(getattr(self, name), dtype=bool)))
        if not self.train.shape == self.validation.shape == self.test.shape or self.train.ndim != 2:
            raise InputError("train, validation and test masks must have the same shape: n, or splits x n")

    def draw(self, labels: Labels, seed: int) -> Split:
        turn = check_seed(seed) % len(self.train)
        if self.train.shape[1] != len(labels):
            raise InputError(f"masks must have one entry a user ({len(labels)}), got {self.train.shape[1]}")
        return check_split(Split(self.train[turn], self.validation[turn], self.test[turn]), labels)

    def of(self, kept: Mask) -> GivenSplit:
        """The same masks for some of the users."""
        return GivenSplit(self.train[:, kept], self.validation[:, kept], self.test[:, kept])


def check_split(split: Split, labels: Labels) -> Split:
    """Refuse a split that nothing can be learned or measured on."""
    for name in PARTS:
        chosen = labels[getattr(split, name)]
        if chosen.size == 0:
            raise InputError(f"the {name} split is empty: give it some users with a label")
        unknown = int((~labelled(chosen)).sum())
        if unknown:
            raise InputError(f"the {name} split holds {unknown} users without a label (-1): leave them out")
    trained = labels[split.train]
    if (trained == trained[0]).all():
        raise InputError("all training users have the same label: label more users, or take another seed")
    return split


def recipe_of(split: Any, given: GivenSplit | None = None) -> SplitRecipe:
    """A recipe from what a caller wrote: a recipe, one of the names random, few and given, or masks.

    ``given`` are the masks that the data came with, if it did.
    """
    if isinstance(split, SplitRecipe):
        return split
    if isinstance(split, Split):
        return GivenSplit(split.train, split.validation, split.test)
    if split in ("random", "few"):
        return RandomSplit() if split == "random" else FewLabelSplit()
    if split == "given":
        if given is None:
            raise InputError("this data came without masks: split must be 'random', 'few' or a recipe")
        return given
    raise InputError(f"split must be 'random', 'few', 'given' or a recipe, got {split!r}")


def check_private_labels(recipe: SplitRecipe | None) -> None:
    """Refuse a split that was drawn by labels which are to stay private: who trains, and the seed, would tell them."""
    if recipe is not None and recipe.reads_labels:
        instead = "take split='random', which does not look at them, or masks that are public"
        raise InputError(f"{type(recipe).__name__} reads labels that are private: {instead}")


def check_split_shares(train: Any, validation: Any, names: tuple[str, str] = ("train", "validation")) -> None:
    """Refuse shares of training and validation that are not shares, or that leave nothing for testing.

    Parameters
    ----------
    names
        The names of both shares in errors.
    """
    for share, name in zip((train, validation), names, strict=True):
        check_number(share, name, above=0, below=1)
    if not train + validation < 1:
        raise InputError(f"{' and '.join(names)} must leave some for testing, got {train} and {validation}")


def check_seed(seed: Any, runs: int = 1) -> int:
    """Refuse a seed that is not an integer from 0 to 2^64 - 1; run i of several uses the seed plus i."""
    checked = check_whole(seed, "--seed", least=0)
    if checked + runs - 1 > MAX_SEED:
        whose = "--seed" if runs == 1 else f"the seed of the last of {runs} runs, each of which adds 1,"
        raise InputError(f"{whose} must be at most 2^64 - 1: take a smaller seed")
    return checked


def _shuffled(labels: Labels, seed: int, stream: int) -> NDArray[np.int64]:
    """All users with a label, in the random order of that seed."""
    known = np.flatnonzero(labelled(labels))
    if not known.size:
        raise InputError("no user has a label, so there is nothing to split: give labels")
    return np.random.default_rng([check_seed(seed), stream]).permutation(known)


def _masks(labels: Labels, *groups: NDArray[np.int64]) -> Split:
    everybody = np.arange(len(labels))
    return check_split(Split(*(np.isin(everybody, group) for group in groups)), labels)
