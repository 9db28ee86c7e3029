"""The attributes of a row that an answer may depend on, for owners who exclude some, and for servers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphveil.mechanisms.classes import ClassMechanism
from graphveil.mechanisms.features import Asking, FeatureMechanism
from graphveil.mechanisms.personal import PersonalMechanism
from graphveil.privacy.plan import Plan

Truths = NDArray[np.bool_]


def attributes_in_reach(plan: Plan, dims: int) -> Truths:
    """For each of ``dims`` attributes whether some answer to the plan may depend on it; public, and the same for any row.

    Of values, those that can be drawn; of a class, those that a model weighs; all of them for a norm, a sketch, an item, and
    whatever is not known better. A label, a level and links are no attributes.

    >>> plan = Plan(mechanism="multibit", epsilon=1.0, dims=3, range=(0, 1), sampled=1, options={"pool": [1]})
    >>> attributes_in_reach(plan, 3).tolist()
    [False, True, False]
    """
    if plan.subject != "features":
        return np.zeros(dims, dtype=bool)
    mechanism = plan.build()
    reached = np.ones(dims, dtype=bool)
    if plan.of == "norm":
        return reached
    # A subclass may look at more than what its parents say.
    if type(mechanism) is FeatureMechanism or type(mechanism) is PersonalMechanism:
        reached = _drawn(mechanism.asking)
    elif type(mechanism) is ClassMechanism:
        reached = _weighed(mechanism)
    return reached if len(reached) == dims else np.ones(dims, dtype=bool)


def _drawn(asking: Asking) -> Truths:
    """Those that can be asked, be it hardly ever."""
    reached = np.full(asking.size, min(asking.takes) < asking.count)
    reached[list(asking.pool)] = max(asking.takes) > 0
    return reached


def _weighed(mechanism: ClassMechanism) -> Truths:
    """Those with a weight in a score of a class that is left open; all where the length of the row counts."""
    model, listed = mechanism.model, mechanism.lists.array
    open_classes = np.unique(listed)
    weights = model.weights.array[open_classes] != 0
    added = bool(model.bias.array[open_classes].any())
    if mechanism.offsets is not None:
        added = added or bool(mechanism.offsets.array.any())
    if model.first is not None and model.first_bias is not None:
        used = weights.any(axis=0)
        weights = model.first.array[used] != 0
        added = added or bool(model.first_bias.array[used].any())
    if model.unit and added:
        return np.ones(model.dims, dtype=bool)
    reached: Truths = weights.any(axis=0) if len(weights) else np.zeros(model.dims, dtype=bool)
    return reached
