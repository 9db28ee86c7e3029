"""The attacks by name, in the order in which they are listed."""

from __future__ import annotations

from graphveil.attacks.attribute import AttributeAttack
from graphveil.attacks.game import MechanismAttack
from graphveil.attacks.link import LinkAttack
from graphveil.attacks.model import LearnedLabelAttack, MembershipAttack, ModelAttack
from graphveil.attacks.symbols import LabelAttack, LevelAttack
from graphveil.plugins import Registry

# On what users report by a mechanism ...
ATTACKS = Registry[MechanismAttack](
    "attack on reports",
    {each.name: each for each in (AttributeAttack(), LevelAttack(), LinkAttack(), LabelAttack())},
)
# ... and on what a method learns.
MODEL_ATTACKS = Registry[ModelAttack](
    "attack on models", {each.name: each for each in (LearnedLabelAttack(), MembershipAttack())}
)
