"""Attacks: what somebody who sees reports can find out about one user, measured from outside.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from graphveil.lazy import load_later

if TYPE_CHECKING:
    from graphveil.attacks.attribute import AttributeAttack
    from graphveil.attacks.bounds import guess_bound
    from graphveil.attacks.game import (
        Attack,
        Deal,
        MechanismAttack,
        Natural,
        Played,
        Reporting,
        Stakes,
        Tally,
    )
    from graphveil.attacks.label import LabelAttack
    from graphveil.attacks.learned_label import LearnedLabelAttack
    from graphveil.attacks.level import LevelAttack
    from graphveil.attacks.link import LinkAttack
    from graphveil.attacks.membership import MembershipAttack
    from graphveil.attacks.model import SEEN, Learned, Learner, ModelAttack, Seen
    from graphveil.attacks.overheard import OverheardUsers
    from graphveil.attacks.registry import ATTACKS, MODEL_ATTACKS
    from graphveil.attacks.votes import AttackResult, attribute_inference, neighbour_vote
else:
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "attribute": ("AttributeAttack",),
            "bounds": ("guess_bound",),
            "game": (
                *("Attack", "Deal", "MechanismAttack", "Natural", "Played", "Reporting", "Stakes", "Tally"),
            ),
            "label": ("LabelAttack",),
            "learned_label": ("LearnedLabelAttack",),
            "level": ("LevelAttack",),
            "link": ("LinkAttack",),
            "membership": ("MembershipAttack",),
            "model": ("SEEN", "Learned", "Learner", "ModelAttack", "Seen"),
            "overheard": ("OverheardUsers",),
            "registry": ("ATTACKS", "MODEL_ATTACKS"),
            "votes": ("AttackResult", "attribute_inference", "neighbour_vote"),
        },
    )

__all__ = [
    "ATTACKS",
    "MODEL_ATTACKS",
    "SEEN",
    "Attack",
    "AttackResult",
    "AttributeAttack",
    "Deal",
    "LabelAttack",
    "Learned",
    "LearnedLabelAttack",
    "Learner",
    "LevelAttack",
    "LinkAttack",
    "MechanismAttack",
    "MembershipAttack",
    "ModelAttack",
    "Natural",
    "OverheardUsers",
    "Played",
    "Reporting",
    "Seen",
    "Stakes",
    "Tally",
    "attribute_inference",
    "guess_bound",
    "neighbour_vote",
]
