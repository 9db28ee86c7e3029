"""Which share of users chose each privacy level is estimated from the reports of all workers' users, as in one process."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from graphveil.graphs.world import World
from graphveil.mechanisms import PersonalMechanism, Reports, estimate_level_shares


@dataclass(frozen=True, eq=False, repr=False)
class _SharedLevels(PersonalMechanism):
    """A mechanism whose levels' shares were estimated from more reports than it is asked to decode: ``found``."""

    found: tuple[float, ...] = ()

    def level_shares(self, reports: Reports) -> NDArray[np.float64]:
        return np.array(self.found)


def with_common_shares(reports: Reports, world: World) -> Reports:
    """Reports of one worker's users that are decoded with the shares of everybody's levels; all workers call this together."""
    mechanism = reports.mechanism
    if not isinstance(mechanism, PersonalMechanism) or mechanism.shares is not None:
        return reports
    counts = np.bincount(mechanism.level_codes(reports), minlength=mechanism.transition.shape[1])
    shares = estimate_level_shares(world.sum(counts), mechanism.transition)
    held = {field.name: getattr(mechanism, field.name) for field in fields(mechanism)}
    return replace(reports, mechanism=_SharedLevels(**held, found=tuple(shares.tolist())))
