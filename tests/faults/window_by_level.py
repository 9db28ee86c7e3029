"""The extended square wave with a window whose width follows from the true level's own budget."""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.channels.build import rounded_table
from graphveil.channels.square_wave import half_width
from graphveil.mechanisms import LevelMechanism

CAUSE = "own windows was given 1 and has 7.9"

LEVELS = 4


def build(epsilon):
    reach = math.floor(LEVELS * half_width(epsilon) / 2)
    masses = np.zeros((LEVELS, LEVELS + 2 * reach))
    for level in range(LEVELS):
        budget = epsilon * 2**level
        own = math.floor(LEVELS * half_width(budget) / 2)
        masses[level] = 1.0
        masses[level, level + reach - own : level + reach + own + 1] = math.exp(budget)
    names = np.arange(1.0 - reach, LEVELS + reach + 1)
    channel = Channel(
        "own windows", rounded_table(masses, TOTAL), np.arange(1.0, LEVELS + 1), names, Claim(epsilon)
    )
    return LevelMechanism("window by level", Claim(epsilon), channel, "level", first=1, unbiased=False)
