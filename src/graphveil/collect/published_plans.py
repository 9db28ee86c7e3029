"""Published plans beside what a method asks now, and answers to the one as answers to the other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError
from graphveil.mechanisms import Reports
from graphveil.privacy import Plan

Nodes = NDArray[np.int64]
# What may differ where answers to one question are taken for answers to another: the rest decides how they are read.
MAY_DIFFER = frozenset({"users", "round", "model", "lists", "offsets", "options"})


def differences(published: Plan, wanted: Plan) -> str:
    """The names of what differs between two plans."""
    names = [name for name in Plan.model_fields if getattr(published, name) != getattr(wanted, name)]
    return " and ".join(names) or "nothing that is seen"


def refuse_other_kind(number: int, published: Plan, wanted: Plan) -> None:
    """Refuse to go on with answers to a question of another kind."""
    wrong = [
        name
        for name in Plan.model_fields
        if name not in MAY_DIFFER and getattr(published, name) != getattr(wanted, name)
    ]
    if wrong:
        raise InputError(
            f"round {number} was published with another {' and '.join(wrong)}, so its answers cannot stand for those that the method "
            "asks for: run it with the settings that it was published with"
        )


def aligned_reports(reports: Reports, published: Plan, wanted: Plan, users: int) -> Reports:
    """Answers to the published plan, in the order of the wanted one; whoever was not asked this is silent.

    A place in a list of classes says something only of the same list: where a user's list has changed, the answer is left out.
    """
    before, now = asked_of(published, reports.asked), asked_of(wanted, users)
    if np.array_equal(before, now) and published.lists == wanted.lists:
        return reports
    places = np.full(max(users, int(before.max(initial=-1)) + 1), -1)
    places[now] = np.arange(len(now))
    came = places[before[reports.places]]
    kept = came >= 0
    if published.lists is not None and wanted.lists is not None:
        own, other = published.lists.array[reports.places], wanted.lists.array[np.maximum(came, 0)]
        kept &= (own == other).all(axis=1)
    chosen = np.flatnonzero(kept)
    chosen = chosen[np.argsort(came[chosen])]
    answered = np.zeros(len(now), dtype=bool)
    answered[came[chosen]] = True
    mechanism = wanted.build() if wanted.of == "class" else reports.mechanism
    return replace(reports.rows(chosen), mechanism=mechanism, answered=answered)


def asked_of(plan: Plan, count: int) -> Nodes:
    """The numbers of those whom a plan asks, of so many users, in its order."""
    return np.arange(count) if plan.users == "all" else np.array(plan.users, dtype=np.int64)
