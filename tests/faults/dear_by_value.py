"""What a user is charged depends on the value: the books, or a refusal to overdraw them, tell which it was."""

from dataclasses import fields

import numpy as np

from graphveil.mechanisms import PersonalMechanism, mechanism

CAUSE = "costs differ from the budget of the level"


class Dear(PersonalMechanism):
    def costs(self, private):
        high = np.asarray(private)[:, 0] > self.public.centre
        return np.where(high, 2, 1) * super().costs(private)


def build(epsilon, dims, range):
    sealed = mechanism("ppm", epsilon=epsilon, dims=dims, range=range)
    return Dear(**{field.name: getattr(sealed, field.name) for field in fields(sealed) if field.init})
