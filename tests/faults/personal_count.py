"""How many values are answered follows from the user's true level, as PPGNN's algorithms have it, so their number reveals it."""

from dataclasses import replace

from graphveil.channels import onebit
from graphveil.mechanisms import mechanism

CAUSE = "the level is not protected"


def build(epsilon, dims, range):
    sealed = mechanism("ppm", epsilon=epsilon, dims=dims, range=range)
    ways = []
    for level, beside in enumerate(sealed.ways):
        count = 1 + level % 2
        own = onebit((sealed.budgets[level] - 0.1 * epsilon) / count)
        ways.append(tuple(replace(way, count=count, channel=own) for way in beside))
    return replace(sealed, name="count by level", ways=tuple(ways))
