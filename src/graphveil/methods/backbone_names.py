"""Backbones by name, as far as that can be done without torch."""

from __future__ import annotations

from graphveil import learn
from graphveil.methods.method_settings import BACKBONE_NAMES
from graphveil.outside import digest, is_reference, package, plugins
from graphveil.registry import unknown_name

# Where installed packages offer theirs.
GROUP = "graphveil.backbones"


def check_backbone(name: str) -> None:
    """Refuse a name that no backbone has. One of the library's own is found without torch; others are loaded."""
    if name in BACKBONE_NAMES:
        return
    if is_reference(name) or name in plugins(GROUP):
        learn.BACKBONES.load(name)
        return
    raise unknown_name("backbone", name, [*BACKBONE_NAMES, *plugins(GROUP)])


def backbone_digest(name: str) -> str | None:
    """What the numbers of a backbone from outside depend on; None for the library's own."""
    if name in BACKBONE_NAMES:
        return None
    if is_reference(name):
        return digest(name)
    point = plugins(GROUP).get(name)
    return None if point is None else package(point).digest
