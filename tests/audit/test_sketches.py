"""An audit of a plan that asks for a sketch."""

from dataclasses import fields as fields_of
from dataclasses import replace

import numpy as np
import pytest

from graphveil import Plan, SeededBits
from graphveil.audit import audit


def sketch_plan(inputs=7, dims=3, epsilon=1.0):
    return Plan(
        mechanism="privunit",
        epsilon=epsilon,
        dims=dims,
        range=(0, 1),
        options={"inputs": inputs, "hash_seed": 5, "centre": 0.5},
    )


@pytest.mark.parametrize("dims", [1, 3, 7])
def test_a_sound_sketch_holds(dims):
    found = audit(sketch_plan(dims=dims), quick=True, random_bits=SeededBits(2))
    assert found.holds, found.leaks
    assert not found.finite


def test_a_sketch_that_adds_a_value_to_what_is_drawn_is_caught():
    """The first value is added to the report itself, after the noise."""
    built = sketch_plan().build()

    class Leaking(type(built)):
        def randomize(self, private, random_bits=None):
            reports = super().randomize(private, random_bits)
            first = (
                np.asarray(private, dtype=float)[:, 0]
                if not hasattr(private, "tocsr")
                else private.toarray()[:, 0]
            )
            odd = np.repeat(np.nan_to_num(first, posinf=1, neginf=0) > 0.5, self.size)
            return replace(reports, codes=(reports.codes & ~np.uint16(1)) | odd.astype(np.uint16))

    fields = {name: getattr(built, name) for name in (field.name for field in fields_of(built))}
    assert not audit(Leaking(**fields), quick=True, random_bits=SeededBits(2)).holds
