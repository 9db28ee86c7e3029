"""The trusted core: every local randomizer is a finite channel, a table of integers whose privacy is computed.

>>> square_wave(1.0).epsilon <= 1.0
True
"""

from graphveil.channels.channel import Channel, FiniteChannel
from graphveil.channels.counting import CountingChannel, counting
from graphveil.channels.exact import TOTAL, Claim, Loss
from graphveil.channels.gaussian import analytic_gaussian, gaussian
from graphveil.channels.graded import condensed, featurerr
from graphveil.channels.kary import KaryChannel, kary
from graphveil.channels.laplace import laplace
from graphveil.channels.onebit import duchi, onebit, three_output
from graphveil.channels.piecewise import hybrid, piecewise, pm_sub
from graphveil.channels.product import ProductChannel
from graphveil.channels.sampling import RandomBits, SeededBits, SystemBits
from graphveil.channels.square_wave import esw, square_wave
from graphveil.channels.unary import latent, ome

__all__ = [
    "TOTAL",
    "Channel",
    "Claim",
    "CountingChannel",
    "FiniteChannel",
    "KaryChannel",
    "Loss",
    "ProductChannel",
    "RandomBits",
    "SeededBits",
    "SystemBits",
    "analytic_gaussian",
    "condensed",
    "counting",
    "duchi",
    "esw",
    "featurerr",
    "gaussian",
    "hybrid",
    "kary",
    "laplace",
    "latent",
    "ome",
    "onebit",
    "piecewise",
    "pm_sub",
    "square_wave",
    "three_output",
]
