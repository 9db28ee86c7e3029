"""Reports of parts of a plan, put together: every device answers its own part, which names no other user."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from graphveil.errors import InputError, MessageError
from graphveil.mechanisms import Reports
from graphveil.mechanisms.reports import row_pointers
from graphveil.privacy.plan import Plan

# What differs between a plan and its parts.
OWN = ("users", "lists", "offsets")


def join_parts(plan: Plan, answered: Iterable[tuple[Plan, Reports]]) -> Reports:
    """The reports to a whole plan from those to its parts, in whatever order they came; whoever is missing is silent.

    A part must ask of its users what the whole asks of them, and its reports must answer it.
    """
    plan = Plan.checked(plan)
    if plan.users == "all":
        raise InputError("parts are put together where a plan names its users, and this one asks 'all'")
    places = {user: place for place, user in enumerate(plan.users)}
    came, told = [], []
    for part, reports in answered:
        own = _places(plan, part, places)
        if reports.mechanism.fingerprint != part.build().fingerprint:
            raise MessageError(
                "reports were given for a part that they do not answer: give each with its own plan"
            )
        if reports.asked != own.size:
            raise MessageError(f"{reports.asked} reports were given for a part of {own.size} users")
        reports.check()
        came.append(own[reports.places])
        told.append(reports)
    if not told:
        raise InputError("there must be at least one part to put together")
    return _ordered(plan, np.concatenate(came), told)


def _places(plan: Plan, part: Plan, places: dict[int, int]) -> NDArray[np.int64]:
    """Where the users of a part stand in the whole."""
    if any(getattr(part, name) != getattr(plan, name) for name in Plan.model_fields if name not in OWN):
        raise InputError("a part asks something else than the whole plan: make parts with plan.part(users)")
    if part.users == "all" or not all(user in places for user in part.users):
        raise InputError("a part asks users whom the whole plan does not ask")
    own = np.array([places[user] for user in part.users], dtype=np.int64)
    for name in ("lists", "offsets"):
        whole, some = getattr(plan, name), getattr(part, name)
        if (whole is None) != (some is None) or (whole is not None and whole.rows(own) != some):
            raise InputError(f"a part has other {name} than the whole plan has for its users")
    return own


def _ordered(plan: Plan, places: NDArray[np.int64], told: list[Reports]) -> Reports:
    """All reports in the plan's order."""
    assert plan.users != "all"
    if len(np.unique(places)) != len(places):
        raise MessageError("a user has answered two parts: everybody answers once")
    order = np.argsort(places)
    lengths = np.concatenate([reports.lengths for reports in told])
    starts = row_pointers(lengths)[:-1][order]
    pointers = row_pointers(lengths[order])
    at = np.repeat(starts - pointers[:-1], lengths[order]) + np.arange(int(pointers[-1]))
    dims = [reports.dims for reports in told if reports.dims is not None]
    codes = np.concatenate([reports.codes for reports in told])[at]
    answered = np.zeros(len(plan.users), dtype=bool)
    answered[places] = True
    return Reports(
        plan.build(),
        pointers,
        np.concatenate(dims)[at] if dims else None,
        codes,
        None if answered.all() else answered,
    )
