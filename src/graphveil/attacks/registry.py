"""The attacks by name, in the order in which they are listed."""

from __future__ import annotations

from graphveil.attacks.attribute import AttributeAttack
from graphveil.attacks.game import Attack
from graphveil.attacks.label import LabelAttack
from graphveil.attacks.level import LevelAttack
from graphveil.attacks.link import LinkAttack
from graphveil.attacks.membership import MembershipAttack
from graphveil.registry import Registry

ATTACKS = Registry[Attack](
    "attack",
    {
        each.name: each
        for each in (AttributeAttack(), LevelAttack(), LinkAttack(), LabelAttack(), MembershipAttack())
    },
)
