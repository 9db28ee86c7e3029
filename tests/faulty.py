"""What broken mechanisms of tests/faults have in common, so that each file there shows its mistake alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import (
    ClassMechanism,
    ClassModel,
    FeatureMechanism,
    PublicRange,
    Reports,
    mechanism,
)
from graphveil.mechanisms.classes import Integers


def onebit_of(kind: type[FeatureMechanism]) -> Callable[..., FeatureMechanism]:
    """Return a function that builds a mechanism of a class: one bit for every value, which share the budget."""
    return partial(all_values, kind)


def all_values(kind: type[FeatureMechanism], epsilon: float, dims: int, range: Any) -> FeatureMechanism:
    """Build it; a function of a module, so that another process can."""
    channels = (onebit(epsilon / dims),)
    return kind(kind.__name__, Claim(epsilon), PublicRange.of(range), dims, dims, channels, 1.0)


def some_values_of(kind: type[FeatureMechanism], sampled: int = 1) -> Callable[..., FeatureMechanism]:
    """Return a function that builds a mechanism of a class: one bit for each of some values, which share the budget."""
    return partial(some_values, kind, sampled=sampled)


def some_values(
    kind: type[FeatureMechanism], epsilon: float, dims: int, range: Any, sampled: int
) -> FeatureMechanism:
    """Build it."""
    channels, public = (onebit(epsilon / sampled),), PublicRange.of(range)
    return kind(kind.__name__, Claim(epsilon), public, dims, sampled, channels, dims / sampled)


def class_question_of(kind: type[ClassMechanism]) -> Callable[..., ClassMechanism]:
    """Return a function that builds a question for one of three classes, by a linear model of four."""
    return partial(class_question, kind)


def class_question(kind: type[ClassMechanism], epsilon: float, dims: int, range: Any) -> ClassMechanism:
    """Build it."""
    weights, bias = np.eye(4, dims, dtype=np.int64), [0, 0, 0, 0]
    model = ClassModel.of({"kind": "linear", "weights": weights, "bias": bias})
    label = mechanism("krr", epsilon=epsilon, classes=3)
    return kind(label, PublicRange.of(range), model, Integers.of([[2, 0, 1]], "lists", 2))


def highs(asked: FeatureMechanism, private: Any) -> NDArray[np.bool_]:
    """Which values of dense or sparse rows lie in the upper half of the range: the truth that one bit hides."""
    rows = private.toarray() if hasattr(private, "toarray") else np.asarray(private, dtype=float)
    return rows > asked.public.centre


def plain(reports: Reports, private: Any) -> Reports:
    """The reports of these rows without noise."""
    return replace(reports, codes=highs(reports.mechanism, private).ravel().astype(reports.codes.dtype))


class ByHand(FeatureMechanism):
    """Draws its own bits from a number for each value, which a subclass may spoil."""

    def randomize(self, private: Any, random_bits: Any = None) -> Reports:
        """Encode, draw, compare."""
        source = SystemBits() if random_bits is None else random_bits
        unit = self.public.to_unit(np.array(private, dtype=float))
        symbols = self.encode(unit.ravel(), self.channels[0], source).reshape(unit.shape)
        drawn = (source.take(unit.size) >> np.uint64(2)).astype(np.int64).reshape(unit.shape)
        codes = self.spoil(drawn) < self.channels[0].table[:, 1][symbols]
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, codes.ravel().astype(np.uint8))

    def spoil(self, drawn: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers to compare with the table, (users, values)."""
        return drawn
