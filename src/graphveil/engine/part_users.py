"""The users of one worker's part, as a method asks them: they answer the plan that one process would have asked."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphveil.engine.common_levels import with_common_shares
from graphveil.graphs.part import GraphPart
from graphveil.mechanisms import Reports
from graphveil.privacy import Plan

Numbers = NDArray[np.int64]


class Answering(Protocol):
    """Users of the whole graph, who answer a plan for all of it."""

    def report(self, plan: Plan, places: Numbers | None) -> Reports:
        """The reports of those whom a plan asks at these places."""


class PartUsers:
    """A worker asks its own users by their numbers in the part. All workers ask together: what they ask is put into one plan for
    the whole graph, by its own numbers, which is the plan that one process asks. Each gets the reports of its users."""

    def __init__(self, part: GraphPart, whole: Answering) -> None:
        self._part, self._whole = part, whole

    def report(self, plan: Plan) -> Reports:
        """The reports of this worker's users, in the order in which its plan names them."""
        return with_common_shares(self._reports(plan), self._part.world)

    def _reports(self, plan: Plan) -> Reports:
        part = self._part
        if plan.users == "all":
            return self._whole.report(plan, part.original)
        own = part.original[np.array(plan.users, dtype=np.int64)]
        everybody = part.world.gather(own)
        order = np.argsort(everybody, kind="stable")
        asked = everybody[order]
        tables: dict[str, Any] = {}
        for name in ("lists", "offsets"):
            table = getattr(plan, name)
            if table is not None:
                tables[name] = part.world.gather(np.asarray(table.array, dtype=np.int64))[order]
        whole = plan.model_copy(update={"users": tuple(asked.tolist()), **tables})
        return self._whole.report(whole, np.searchsorted(asked, own))
