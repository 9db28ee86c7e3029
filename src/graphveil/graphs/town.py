"""town and town-labels: generated social networks in which features matter."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphveil.checks import check_number, check_whole
from graphveil.errors import InputError
from graphveil.graphs.splits import check_seed, check_split_shares

BLOCK = 1 << 22


@dataclass(frozen=True)
class Town:
    """Many neighbourhoods of a few kinds. A user's class is the kind of their neighbourhood.

    Most friends live nearby. A few interests (features) are common in one kind and rare in the others; all the rest say
    nothing. Few users are labelled, so that many neighbourhoods have no labelled member: there the graph and the labels
    alone cannot tell the kind, and only what users report about their interests can. ``degree`` is the mean number of
    friends, ``nearby`` the share of them in one's own neighbourhood. ``seed`` fixes the town; which of its users are
    labelled is the split's matter.
    """

    users: int = 4000
    features: int = 64
    telling: int = 8
    kinds: int = 4
    neighbourhood: int = 40
    degree: float = 20.0
    nearby: float = 0.9
    often: float = 0.9
    rarely: float = 0.1
    labelled: float = 0.03
    validated: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            check_whole(getattr(self, name), name, least=least)
        check_seed(self.seed)
        check_number(self.degree, "degree", above=0)
        for name in ("nearby", "often", "rarely"):
            check_number(getattr(self, name), name, least=0, most=1)
        check_whole(self.telling, "telling", least=0, most=self.features, why="the number of features")
        if self.users < self.kinds * self.neighbourhood:
            each = f"one neighbourhood of {self.neighbourhood} for each of {self.kinds} kinds"
            raise InputError(f"{self.users} users do not fill {each}: add users, or make it smaller")
        if self.degree * self.nearby >= self.neighbourhood - 1:
            place = f"a neighbourhood of {self.neighbourhood}"
            raise InputError(f"degree must leave strangers in {place}, got {self.degree!r}")
        check_split_shares(self.labelled, self.validated, ("labelled", "validated"))

    def generate(self) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]:
        """Return edges (E x 2, with repeats), binary features (users x features) and labels; linear in the size."""
        random = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, 7])))
        home, count = homes(self)
        labels = random.permutation(np.arange(count) % self.kinds)[home]
        friendships = draw_friendships(self, home, count, random)
        return friendships, draw_interests(interest_rates(self, random), labels, random), labels


_LEAST = {"users": 1, "features": 1, "telling": 0, "kinds": 2, "neighbourhood": 2, "seed": 0}


def homes(plan: Town) -> tuple[NDArray[np.int32], int]:
    """The neighbourhood of each user, and how many there are; the last one takes what is left over."""
    count = plan.users // plan.neighbourhood
    return np.minimum(np.arange(plan.users, dtype=np.int32) // plan.neighbourhood, count - 1), count


def draw_friendships(
    plan: Town, home: NDArray[np.int32], count: int, random: np.random.Generator
) -> NDArray[np.int32]:
    """Draw the friends of every user: most of them nearby, some anywhere. Who picks whom does not matter.

    Parameters
    ----------
    home
        The neighbourhood of each user.
    count
        The number of neighbourhoods.
    """
    everyone = np.arange(plan.users, dtype=np.int32)
    near, friends = pick_nearby(plan, everyone, home, count, random)
    far, strangers = pick_anywhere(plan, everyone, random)
    return np.stack([np.concatenate([near, far]), np.concatenate([friends, strangers])], axis=1)


def pick_nearby(
    plan: Town,
    pickers: NDArray[np.int32],
    home: NDArray[np.int32],
    count: int,
    random: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw friends for users from their own neighbourhoods; return who picks (repeated for each pick) and whom.

    Parameters
    ----------
    pickers
        The users who pick.
    home
        The neighbourhood of each of them.
    count
        The number of neighbourhoods.
    """
    start = home * plan.neighbourhood
    size = np.where(home == count - 1, plan.users - start, plan.neighbourhood)
    chosen = _picks(len(pickers), _near_picks(plan), random)
    near, start, size = (np.repeat(each, chosen) for each in (pickers, start, size))
    friends = start + (random.random(len(near), dtype=np.float32) * size).astype(np.int32)
    # Rounding to float32 may reach the upper end.
    return near, np.minimum(friends, start + size - 1)


def pick_anywhere(
    plan: Town, pickers: NDArray[np.int32], random: np.random.Generator
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Draw friends for users from the whole town; return who picks (repeated for each pick) and whom.

    Parameters
    ----------
    plan
        The town.
    pickers
        The users who pick: (users,) int32.
    random
        The generator to draw from.
    """
    far = np.repeat(pickers, _picks(len(pickers), plan.degree * (1 - plan.nearby) / 2, random))
    return far, random.integers(0, plan.users, len(far), dtype=np.int32)


def _near_picks(plan: Town) -> float:
    """Return the picks a user makes so that, repeats merged, ``degree * nearby`` neighbours are friends on average.

    A pair of s neighbours stays strangers with probability (1 - 1/s)^(2·picks).
    """
    friends = plan.degree * plan.nearby / (plan.neighbourhood - 1)
    return math.log1p(-friends) / (2 * math.log1p(-1 / plan.neighbourhood))


def _picks(users: int, mean: float, random: np.random.Generator) -> NDArray[np.int32]:
    """A whole number of picks for each user, rounded at random so that the mean is kept."""
    return (mean + random.random(users, dtype=np.float32)).astype(np.int32)


def interest_rates(plan: Town, random: np.random.Generator) -> NDArray[np.float32]:
    """Telling feature j is common in kind j mod kinds; every other feature has a rate of its own, the same for all."""
    telling, own = _rates(plan, random)
    rates = np.tile(own, (plan.kinds, 1))
    for place, feature in enumerate(telling):
        rates[:, feature] = plan.rarely
        rates[place % plan.kinds, feature] = plan.often
    return rates.astype(np.float32)


def _rates(plan: Town, random: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The telling features, and a rate for each feature."""
    telling = np.sort(random.permutation(plan.features)[: plan.telling])
    low, high = sorted((plan.rarely, plan.often))
    return telling, random.uniform(low, high, plan.features)


def draw_interests(
    rates: NDArray[np.float32], labels: NDArray[np.int64], random: np.random.Generator
) -> NDArray[np.uint8]:
    """Draw the interests of users: (users, interests) uint8.

    Parameters
    ----------
    rates
        The chance of each interest in each kind: (kinds, interests) float32.
    labels
        The kind of each user: (users,) int64.
    """
    return _drawn((len(labels), rates.shape[1]), lambda block: rates[labels[block]], random)


def _drawn(
    shape: tuple[int, int], chances: Callable[[slice], NDArray[np.float32]], random: np.random.Generator
) -> NDArray[np.uint8]:
    """Zeros and ones (users x features), drawn in blocks of users by their chances."""
    interests = np.empty(shape, dtype=np.uint8)
    step = max(1, BLOCK // shape[1])
    for begin in range(0, shape[0], step):
        block = slice(begin, begin + step)
        chance = chances(block)
        interests[block] = random.random(chance.shape, dtype=np.float32) < chance
    return interests


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

    def generate(self) -> tuple[NDArray[np.int32], NDArray[np.uint8], NDArray[np.int64]]:
        """Return edges (E x 2, with repeats), binary features (users x features) and labels (users x kinds)."""
        random = np.random.Generator(np.random.Philox(np.random.SeedSequence([self.seed, 8])))
        home, count = homes(self)
        hosted = random.random((count, self.kinds)) < self.hosted
        chance = np.where(hosted, self.joins, self.strays)[home]
        members = random.random(chance.shape) < chance
        edges = draw_friendships(self, home, count, random)
        return edges, _interests(self, members, random), members.astype(np.int64)


def _interests(plan: LabelTown, members: NDArray[np.bool_], random: np.random.Generator) -> NDArray[np.uint8]:
    """Telling feature j is common among members of club j mod kinds; every other feature has a rate of its own."""
    telling, own = _rates(plan, random)
    rates = own.astype(np.float32)
    clubs = np.arange(plan.telling) % plan.kinds

    def chances(block: slice) -> NDArray[np.float32]:
        chance = np.tile(rates, (len(members[block]), 1))
        chance[:, telling] = np.where(members[block][:, clubs], plan.often, plan.rarely)
        return chance

    return _drawn((plan.users, plan.features), chances, random)
