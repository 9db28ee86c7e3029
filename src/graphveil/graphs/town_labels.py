"""town-labels: a generated social network in which a user may have any number of labels, and features matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number
from graphveil.graphs.town import BLOCK, Town, draw_friendships, homes


@dataclass(frozen=True)
class LabelTown(Town):
    """A town whose labels are clubs: a user is a member of any number of ``kinds`` of them.

    Each neighbourhood hosts a random share ``hosted`` of the clubs. Users join a club that is hosted next door with the chance
    ``joins``, and any other with the chance ``strays``. Each telling feature is common among the members of one club and rare
    among all others, so that one's own features tell who strays and who stays away, and the neighbours' tell what is hosted.
    All else is as in `Town`: few users are labelled, and many neighbourhoods have no labelled member.
    """

    features: int = 48
    telling: int = 24
    kinds: int = 4
    hosted: float = 0.4
    joins: float = 0.85
    strays: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("hosted", "joins", "strays"):
            check_number(getattr(self, name), name, least=0, most=1)


def generate_label_town(
    plan: LabelTown,
) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]:
    """Edges (E x 2, with repeats), binary features (users x features) and labels (users x kinds); linear in the size."""
    random = np.random.Generator(np.random.Philox(np.random.SeedSequence([plan.seed, 8])))
    home, count = homes(plan)
    hosted = random.random((count, plan.kinds)) < plan.hosted
    chance = np.where(hosted, plan.joins, plan.strays)[home]
    members = random.random(chance.shape) < chance
    edges = draw_friendships(plan, home, count, random)
    return edges, _interests(plan, members, random), members.astype(np.int64)


def _interests(plan: LabelTown, members: NDArray[np.bool_], random: np.random.Generator) -> NDArray[np.uint8]:
    """Telling feature j is common among members of club j mod kinds; every other feature has a rate of its own."""
    telling = np.sort(random.permutation(plan.features)[: plan.telling])
    low, high = sorted((plan.rarely, plan.often))
    rates = random.uniform(low, high, plan.features).astype(np.float32)
    clubs = np.arange(plan.telling) % plan.kinds
    interests = np.empty((plan.users, plan.features), dtype=np.uint8)
    step = max(1, BLOCK // plan.features)
    for begin in range(0, plan.users, step):
        block = slice(begin, begin + step)
        chance = np.tile(rates, (len(members[block]), 1))
        chance[:, telling] = np.where(members[block][:, clubs], plan.often, plan.rarely)
        interests[block] = random.random(chance.shape, dtype=np.float32) < chance
    return interests
