"""Attacks: what somebody who sees reports can find out about one user, measured from outside.

A module is loaded when one of its names is first used.
"""

from typing import TYPE_CHECKING

from graphveil.lazy import load_later

if TYPE_CHECKING:
    from graphveil.attacks.attribute import AttackResult, attribute_inference, guess_bound, neighbour_vote
    from graphveil.attacks.overheard import OverheardUsers
else:
    __getattr__, __dir__ = load_later(
        __name__,
        {
            "attribute": ("AttackResult", "attribute_inference", "guess_bound", "neighbour_vote"),
            "overheard": ("OverheardUsers",),
        },
    )

__all__ = ["AttackResult", "OverheardUsers", "attribute_inference", "guess_bound", "neighbour_vote"]
