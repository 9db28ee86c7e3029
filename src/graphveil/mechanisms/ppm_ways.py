"""The ways in which users of a personal mechanism answer, and which of them a report cannot tell apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphveil.channels.channel import FiniteChannel
from graphveil.errors import InputError

# One dimension's outputs of two channels decode to the same signs if they agree to this, scaled to their largest.
SAME_SIGNS = 1e-9


@dataclass(frozen=True)
class Way:
    """How a user of some level answers beside some randomized level: so many values through a channel.

    The codes of the answers are counted from ``first``.
    """

    count: int
    channel: FiniteChannel
    first: int = 0


def groups(ways: tuple[Way, ...]) -> dict[tuple[int, int], list[int]]:
    """Levels whose answers have the same number and the same codes beside one τ'."""
    levels_of: dict[tuple[int, int], list[int]] = {}
    for level, way in enumerate(ways):
        levels_of.setdefault((way.count, way.first), []).append(level)
    return levels_of


def check_alike(one: FiniteChannel, other: FiniteChannel) -> None:
    """Refuse channels whose codes do not stand for the same signs: a code would tell the levels apart."""
    alike = (
        one.output_count == other.output_count
        and np.array_equal(one.inputs, other.inputs)
        and np.abs(one.outputs / top(one) - other.outputs / top(other)).max() < SAME_SIGNS
    )
    if not alike:
        raise InputError(
            f"{one.name} answers with other codes at epsilon {one.claim.epsilon:g} than at {other.claim.epsilon:g}, which "
            "would betray the level: take onebit inside, or ppm-printed where levels need no protection"
        )


def top(channel: FiniteChannel) -> float:
    """The largest magnitude that an answer decodes to."""
    return float(np.abs(channel.outputs).max())
