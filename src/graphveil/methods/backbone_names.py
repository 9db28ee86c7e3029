"""Backbones by name, as far as that can be done without torch."""

from __future__ import annotations

from graphveil.methods.method import BACKBONE_NAMES
from graphveil.outside import Origin, is_reference, plugins
from graphveil.registry import unknown_name

# Where installed packages offer theirs.
GROUP = "graphveil.backbones"


def check_backbone(name: str) -> None:
    """Refuse a name that no backbone has. One of the library's own is found without torch; others are loaded."""
    if name in BACKBONE_NAMES:
        return
    if is_reference(name) or name in plugins(GROUP):
        from graphveil.learn.backbones import BACKBONES

        BACKBONES.load(name)
        return
    raise unknown_name("backbone", name, [*BACKBONE_NAMES, *plugins(GROUP)])


def backbone_origin(name: str) -> Origin | None:
    """Where a backbone comes from; None for the library's own."""
    if name in BACKBONE_NAMES:
        return None
    from graphveil.learn.backbones import BACKBONES

    return BACKBONES.origin(name)
