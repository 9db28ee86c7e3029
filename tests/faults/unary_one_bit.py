"""A label as a string of bits, one of them set, each bit answered at ε: two labels differ in two bits, which costs 2ε."""

import math

import numpy as np

from graphveil.channels import TOTAL, Channel, Claim
from graphveil.channels.build import rounded_table
from graphveil.mechanisms import LevelMechanism

CAUSE = "unary was given 1 and has 2"


def build(epsilon, classes=4):
    keep = 1 / (1 + math.exp(-epsilon))
    strings = np.arange(2**classes)
    bits = strings[:, None] >> np.arange(classes) & 1
    truth = np.eye(classes, dtype=int)
    masses = np.where(bits[None] == truth[:, None], keep, 1 - keep).prod(axis=2)
    symbols = np.arange(float(classes))
    channel = Channel("unary", rounded_table(masses, TOTAL), symbols, strings.astype(float), Claim(epsilon))
    return LevelMechanism("unary one bit", Claim(epsilon), channel, "level", unbiased=False)
