"""One value in three is said to be asked and the others to get decoys, and all are answered. The sound twin does as it says."""

from dataclasses import dataclass, replace

import numpy as np

from graphveil.channels import Claim, SystemBits, onebit
from graphveil.mechanisms import Answer, FeatureMechanism, PublicRange

CAUSE = "decoys are not blind"


@dataclass(frozen=True, eq=False, repr=False)
class Hidden(FeatureMechanism):
    real: int = 1
    honest: bool = False

    @property
    def answers(self):
        real = Answer(self.channels[0], self.real)
        others = self.size - self.real
        return (real, Answer(self.channels[0].blind(), others)) if others else (real,)

    def randomize(self, private, random_bits=None):
        source = SystemBits() if random_bits is None else random_bits
        told = super().randomize(private, source)
        shape = told.users, self.size
        asked = np.argsort(source.take(told.codes.size).reshape(shape), axis=1).ravel() < self.real
        decoys = self.channels[0].blind().respond(np.zeros(told.codes.size, dtype=np.int64), source)
        return replace(told, codes=np.where(asked, told.codes, decoys)) if self.honest else told


def build(epsilon, dims, range, honest=False):
    real = max(1, dims // 3)
    channel, public, scale = onebit(epsilon / real), PublicRange.of(range), dims / real
    return Hidden("decoys", Claim(epsilon), public, dims, dims, (channel,), scale, real=real, honest=honest)


def sound(epsilon, dims, range):
    return build(epsilon, dims, range, honest=True)
