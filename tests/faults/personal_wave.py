"""The level is answered at the user's own budget, while the declared table is the one of the smallest budget for everybody."""

from dataclasses import fields, replace

import numpy as np

from graphveil.channels import TOTAL, Channel, esw
from graphveil.mechanisms import PersonalMechanism, mechanism

CAUSE = "the sampler does not draw what the table says"


class OwnWave(PersonalMechanism):
    def randomize(self, private, random_bits=None):
        declared = self.level_channel
        table = np.zeros(declared.table.shape, dtype=np.int64)
        for level, budget in enumerate(self.budgets):
            wave = esw(0.5 * budget, len(self.budgets))
            start = int(wave.outputs[0] - declared.outputs[0])
            table[level, start : start + wave.output_count] = wave.row(level)
        assert (table.sum(axis=1) == TOTAL).all()
        own = Channel("own waves", table, declared.inputs, declared.outputs, declared.claim)
        reports = PersonalMechanism.randomize(replace(self, level_channel=own), private, random_bits)
        return replace(reports, mechanism=self)


def build(epsilon, dims, range):
    sealed = mechanism("ppm", epsilon=epsilon, dims=dims, range=range, gamma=0.5)
    return OwnWave(**{field.name: getattr(sealed, field.name) for field in fields(sealed)})
