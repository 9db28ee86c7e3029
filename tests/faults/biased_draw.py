"""Random words reduced by a small modulus before they are compared with the table: the rare answers never come."""

import numpy as np

from graphveil.channels import Channel, Claim, piecewise
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the sampler does not draw what the table says"


class Coarse(Channel):
    def _respond(self, symbols, random_bits):
        drawn = (random_bits.take(symbols.size) >> np.uint64(58)).astype(float) / 64
        edges = np.cumsum(self.table / float(self.total), axis=1)
        codes = (drawn[:, None] >= edges[symbols]).sum(axis=1)
        return np.minimum(codes, self.output_count - 1).astype(self.code_type)


def build(epsilon, dims, range, sampled=1):
    good = piecewise(epsilon / sampled, points=33)
    channel = Coarse(good.name, good.table, good.inputs, good.outputs, good.claim)
    return FeatureMechanism(
        "biased draw", Claim(epsilon), PublicRange.of(range), dims, sampled, (channel,), dims / sampled
    )
