"""The table is looked up by the value's place on the grid, and whoever lies between two points answers the nearer one."""

from dataclasses import replace

import numpy as np

from graphveil.channels import Claim, condensed
from graphveil.mechanisms import FeatureMechanism, PublicRange

CAUSE = "sent in the clear"

POINTS = 9


class OnGridOnly(FeatureMechanism):
    def randomize(self, private, random_bits=None):
        reports = super().randomize(private, random_bits)
        unit = self.public.to_unit(np.array(private, dtype=float)).ravel()
        place = (unit + 1) / 2 * (POINTS - 1)
        between = np.abs(place - np.rint(place)) > 1e-9
        codes = np.where(between, np.rint(place).astype(int), reports.codes)
        return replace(reports, codes=codes.astype(reports.codes.dtype))


def build(epsilon, dims, range):
    return OnGridOnly(
        "noise on grid only",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (condensed(epsilon / dims, POINTS),),
        1.0,
    )


def sound(epsilon, dims, range):
    return FeatureMechanism(
        "noise on grid only",
        Claim(epsilon),
        PublicRange.of(range),
        dims,
        dims,
        (condensed(epsilon / dims, POINTS),),
        1.0,
    )
