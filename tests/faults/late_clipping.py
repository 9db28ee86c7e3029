"""Noise first, clipping afterwards: an outlier is shifted by the same noise as everybody else, and still shows."""

import numpy as np

from graphveil.channels import Claim, SystemBits, laplace
from graphveil.mechanisms import FeatureMechanism, PublicRange, Reports

CAUSE = "not clipped before the noise"


class LateClipping(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        channel = self.channels[0]
        unit = (np.asarray(private, dtype=float) - self.public.centre) / self.public.half_width
        inside = np.clip(unit, -1, 1)
        codes = channel.respond(self.encode(inside.ravel(), channel, source), source)
        # What lies outside is added to the noise, and the sum is clipped to the cells that there are.
        beyond = np.searchsorted(channel.outputs, channel.outputs[codes] + (unit - inside).ravel())
        shifted = np.where((unit == inside).ravel(), codes, np.minimum(beyond, channel.output_count - 1))
        return Reports(self, np.arange(len(unit) + 1) * self.size, None, shifted.astype(channel.code_type))


def build(epsilon, dims, range):
    return LateClipping(
        "late clipping", Claim(epsilon), PublicRange.of(range), dims, dims, (laplace(epsilon / dims),), 1.0
    )
