"""Answers are sent as magnitudes d/m·(e^a+1)/(e^a-1) of the user's own budget: one answer reveals the level."""

from dataclasses import replace

from graphveil.mechanisms import mechanism

CAUSE = "the level is not protected"


def build(epsilon, dims, range):
    sealed = mechanism("ppm", epsilon=epsilon, dims=dims, range=range)
    # A code of their own for both magnitudes of each level.
    ways = tuple(
        tuple(replace(way, first=2 * level) for way in ways) for level, ways in enumerate(sealed.ways)
    )
    return replace(sealed, name="magnitudes", ways=ways)
