"""Influence: what one report can add to an estimate at most, exactly, from the alphabet of its mechanism."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.mechanisms import Mechanism
from graphveil.mechanisms.base import Subject
from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.labels import LabelMechanism
from graphveil.mechanisms.privunit import PrivUnitMechanism
from graphveil.mechanisms.reports import Reports, even_pointers
from graphveil.privacy import Plan

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Influence:
    """What one report can do to an estimate: the most that it adds to one value, in widths of what that value can be.

    Estimates start at the least that the value can be; where they are ``unbiased``, an honest report adds 0 to 1 on average, and else what is
    counted is the most that changing one report changes. A report says something of ``values`` of ``dims`` of them.
    """

    subject: Subject
    mechanism: str
    epsilon: float
    most: float
    values: int
    dims: int
    unbiased: bool

    def moved(self, share: float) -> float:
        """The most by which a share of users moves the mean of one value, on average over everybody's noise, in widths."""
        return share * self.most


def influence_of(plan: Plan) -> Influence:
    """The influence of one report, from the mechanism's alphabet: exact.

    >>> told = influence_of(Plan(mechanism="multibit", epsilon=1.0, dims=10, range=(0, 1), sampled=1))
    >>> round(told.most, 2), told.values
    (11.32, 1)
    """
    built = plan.build()
    label = built.label if isinstance(built, ClassMechanism) else built
    if isinstance(label, LabelMechanism):
        decoded = _decoded(label)
        most = float(decoded.max() - (0.0 if label.unbiased else decoded.min()))
    elif plan.subject == "features" and plan.range is not None:
        # An estimate is a constant, the middle of the range, and what reports add to it, up to so many widths either way.
        reach = _reach(built, plan.range[1] - plan.range[0])
        most = reach + (0.5 if built.unbiased else reach)
    else:
        raise InputError(f"what a report about {plan.subject} adds to an estimate has no bound of this kind")
    values = built.shape.length if built.shape.names_dimensions else built.shape.dimensions
    return Influence(
        plan.subject, plan.mechanism, plan.claim.epsilon, most, values, built.shape.dimensions, label.unbiased
    )


def _reach(built: Mechanism, width: float) -> float:
    """How far the estimate of one report lies from the middle at most, in widths of what a value can be."""
    if not isinstance(built, PrivUnitMechanism):
        return built.largest / width
    # A number of a sketch lies between -1 and 1.
    return min(built.largest, built.reach) / (width if built.sketch is None else 2.0)


def _decoded(mechanism: Mechanism) -> Floats:
    """What every possible report of one code is decoded to."""
    codes = np.arange(mechanism.shape.alphabet)
    kind = mechanism.randomize(np.zeros(1, dtype=np.int64)).codes.dtype
    return mechanism.estimate(
        Reports(mechanism, even_pointers(len(codes), 1), None, codes.astype(kind))
    ).dense()
