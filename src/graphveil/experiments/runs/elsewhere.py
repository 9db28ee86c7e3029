"""A unit as another process or another machine computes it: only from the same data."""

from __future__ import annotations

from graphveil.experiments.runs.parted_unit import compute_unit
from graphveil.experiments.runs.unit import UnitResult
from graphveil.experiments.specs.given import Given
from graphveil.experiments.specs.inputs import check_same, input_digest
from graphveil.experiments.specs.outside_names import load_names
from graphveil.experiments.specs.spec import Part, Spec


def digest_for(spec: Spec, part: Part, given: Given | None) -> str | None:
    """What the data are that somebody else is to read; None where they are sent along."""
    return input_digest(spec, part) if given is None else None


def unit_elsewhere(
    spec: Spec, part: Part, number: int, given: Given | None, digest: str | None
) -> UnitResult:
    """A unit, where the data are those of the digest."""
    if digest is not None:
        load_names(spec)
        check_same(spec, digest, part)
    return compute_unit(spec, part, number, None, given)
