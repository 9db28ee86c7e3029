"""Attacks: what somebody who sees reports can find out about one user, measured from outside."""

from graphveil.attacks.attribute import AttackResult, attribute_inference, guess_bound, neighbour_vote
from graphveil.attacks.overheard import OverheardUsers

__all__ = ["AttackResult", "OverheardUsers", "attribute_inference", "guess_bound", "neighbour_vote"]
