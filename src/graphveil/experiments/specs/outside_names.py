"""What a spec names that is not the library's own: loaded before it is looked up, and part of what decides the numbers."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from graphveil.errors import UnknownNameError
from graphveil.graphs.outside_data import LOADERS
from graphveil.mechanisms.registry import load_entry, origin
from graphveil.methods.backbone_names import backbone_digest
from graphveil.methods.method import load_method, method_origin
from graphveil.outside import is_reference

if TYPE_CHECKING:
    from graphveil.experiments.specs.spec import Spec


def load_names(spec: Spec) -> None:
    """Load method and mechanisms, in this process; a mechanism that nothing is called is for `Spec.check` to refuse."""
    load_method(spec.method)
    for name in (spec.budgets.mechanism, spec.budgets.link_mechanism):
        with suppress(UnknownNameError):
            load_entry(name)


def check_data(source: str) -> None:
    """Refuse a file that has no function for a graph, before anything heavy is imported."""
    if is_reference(source):
        LOADERS.load(source)


def outside_digests(spec: Spec) -> dict[str, str]:
    """What stands behind the names of a spec that are not the library's own, by field; data have a digest anyway."""
    method, mechanism, links = (
        method_origin(spec.method),
        origin(spec.budgets.mechanism),
        origin(spec.budgets.link_mechanism),
    )
    digests = {
        "method": None if method is None else method.digest,
        "mechanism": None if mechanism is None else mechanism.digest,
        "link_mechanism": None if links is None else links.digest,
        "backbone": backbone_digest(spec.backbone),
    }
    return {field: digest for field, digest in digests.items() if digest is not None}
