"""An alias table with one alias off by one: the table on paper is right, the draws are not."""

from dataclasses import replace
from functools import cached_property

import numpy as np

from graphveil.channels import Channel, Claim, piecewise
from graphveil.channels.sampling import AliasTable
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "the alias table of piecewise draws"


class OffByOne(Channel):
    @cached_property
    def _alias(self):
        right = AliasTable.build(self.table)
        codes = right.codes.copy()
        codes[0] = (int(codes[0]) + 1) % self.output_count
        return replace(right, codes=np.ascontiguousarray(codes))


def build(epsilon, dims, range, sampled=1):
    good = piecewise(epsilon / sampled, points=5)
    channel = OffByOne(good.name, good.table, good.inputs, good.outputs, good.claim)
    return FeatureMechanism(
        "biased alias", Claim(epsilon), PublicRange.of(range), dims, sampled, (channel,), dims / sampled
    )
