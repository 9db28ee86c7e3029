"""Attacks: what somebody who sees reports can find out about one user, measured from outside.

A module is loaded when one of its names is first used.
"""

# ruff: noqa: I001 -- names that are exported stand with their modules
from typing import TYPE_CHECKING

from graphveil.lazy import lazy_names

if TYPE_CHECKING:
    from graphveil.attacks.attribute import (
        AttackResult as AttackResult,
        AttributeAttack as AttributeAttack,
        attribute_inference as attribute_inference,
    )
    from graphveil.attacks.campaign import (
        AttackPoint as AttackPoint,
        AttackTarget as AttackTarget,
        Campaign as Campaign,
        MechanismTarget as MechanismTarget,
        run_campaign as run_campaign,
    )
    from graphveil.attacks.game import (
        Attack as Attack,
        Deal as Deal,
        MechanismAttack as MechanismAttack,
        Natural as Natural,
        Played as Played,
        Reporting as Reporting,
        Stakes as Stakes,
        Tally as Tally,
        guess_bound as guess_bound,
    )
    from graphveil.attacks.link import LinkAttack as LinkAttack
    from graphveil.attacks.model import (
        SEEN as SEEN,
        Learned as Learned,
        LearnedLabelAttack as LearnedLabelAttack,
        Learner as Learner,
        MembershipAttack as MembershipAttack,
        ModelAttack as ModelAttack,
        Seen as Seen,
    )
    from graphveil.attacks.poisoning import (
        ForgingUsers as ForgingUsers,
        Influence as Influence,
        influence_of as influence_of,
    )
    from graphveil.attacks.registry import ATTACKS as ATTACKS, MODEL_ATTACKS as MODEL_ATTACKS
    from graphveil.attacks.symbols import LabelAttack as LabelAttack, LevelAttack as LevelAttack
else:
    __getattr__, __dir__ = lazy_names(__name__, __file__)
