"""What a unit reads besides its spec: the graph, levels that users have chosen, links that are private, and public files of a method."""

from __future__ import annotations

import platform
from pathlib import Path

from graphveil.errors import InputError
from graphveil.experiments.specs.spec import Part, Spec
from graphveil.graphs.identity import data_digest, file_digest
from graphveil.graphs.levels import level_source
from graphveil.graphs.private_edges import private_edges_file


def input_digest(spec: Spec, part: Part = "method") -> str:
    """A digest of all data that one part of an experiment reads: another content, another digest."""
    whole = data_digest(spec.data, spec.loader_options)
    levels = level_source(spec.levels.level_distribution or "uniform")
    edges = None if spec.private_edges is None else private_edges_file(spec.private_edges)
    files = [] if edges is None else [edges]
    if part != "structure":
        files += [levels] if spec.has_levels and isinstance(levels, Path) else []
        files += spec.found_method.public_files(spec.full_settings())
    return "+".join([whole, *(file_digest(file) for file in files)])


def check_same(spec: Spec, digest: str, part: Part = "method") -> None:
    """Refuse to compute from other data than those that an experiment began with."""
    if input_digest(spec, part) != digest:
        raise InputError(
            f"{spec.data} was changed while it was computed with, or is another one on the machine that computes ({platform.node()}): "
            "give all machines the same files and run it again"
        )


def check_unchanged(spec: Spec, digest: str, part: Part = "method") -> None:
    """Refuse to keep what was computed while its data changed."""
    if input_digest(spec, part) != digest:
        raise InputError(
            f"{spec.data} was changed while it was computed with, so nobody knows what this run has read: run it again"
        )
