"""A report's magnitude is d/m·(e^ε+1)/(e^ε-1) with the user's own ε, so one report reveals the level exactly.

A user holds a level (1 or 2, with budget ε or 2ε) and a bit: four inputs, and four magnitudes to answer with.
"""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.mechanisms import LevelMechanism

CAUSE = "epsilon is infinite"


def build(epsilon):
    table = np.zeros((4, 4), dtype=np.int64)
    magnitudes = []
    for level in (0, 1):
        budget = epsilon * 2**level
        keep = round(TOTAL / (1 + math.exp(-budget)))
        table[2 * level, 2 * level : 2 * level + 2] = keep, TOTAL - keep
        table[2 * level + 1, 2 * level : 2 * level + 2] = TOTAL - keep, keep
        magnitudes += [-1 / math.tanh(budget / 2), 1 / math.tanh(budget / 2)]
    channel = Channel("magnitudes", table, np.arange(4.0), np.array(magnitudes), Claim(epsilon))
    return LevelMechanism("magnitude by level", Claim(epsilon), channel, "level", first=1, unbiased=False)
