"""Attacks: what somebody who sees reports can find out about one user, measured from outside.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from graphveil.lazy import load_later

if TYPE_CHECKING:
    from graphveil.attacks.attribute import AttributeAttack
    from graphveil.attacks.bounds import guess_bound
    from graphveil.attacks.game import Attack, MechanismAttack, Natural, Played, Stakes, Tally
    from graphveil.attacks.label import LabelAttack
    from graphveil.attacks.level import LevelAttack
    from graphveil.attacks.link import LinkAttack
    from graphveil.attacks.membership import SEEN, Learner, MembershipAttack, Seen
    from graphveil.attacks.overheard import OverheardUsers
    from graphveil.attacks.registry import ATTACKS
    from graphveil.attacks.votes import AttackResult, attribute_inference, neighbour_vote
else:
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "attribute": ("AttributeAttack",),
            "bounds": ("guess_bound",),
            "game": ("Attack", "MechanismAttack", "Natural", "Played", "Stakes", "Tally"),
            "label": ("LabelAttack",),
            "level": ("LevelAttack",),
            "link": ("LinkAttack",),
            "membership": ("SEEN", "Learner", "MembershipAttack", "Seen"),
            "overheard": ("OverheardUsers",),
            "registry": ("ATTACKS",),
            "votes": ("AttackResult", "attribute_inference", "neighbour_vote"),
        },
    )

__all__ = [
    "ATTACKS",
    "SEEN",
    "Attack",
    "AttackResult",
    "AttributeAttack",
    "LabelAttack",
    "Learner",
    "LevelAttack",
    "LinkAttack",
    "MechanismAttack",
    "MembershipAttack",
    "Natural",
    "OverheardUsers",
    "Played",
    "Seen",
    "Stakes",
    "Tally",
    "attribute_inference",
    "guess_bound",
    "neighbour_vote",
]
