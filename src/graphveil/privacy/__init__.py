"""Budgets: plans that ask, ledgers that charge, and the one function that answers."""

from graphveil.privacy.answering import Nobody, Respondents, answer, look_over
from graphveil.privacy.ledger import Charge, Ledger
from graphveil.privacy.plan import Plan

__all__ = [
    "Charge",
    "Ledger",
    "Nobody",
    "Plan",
    "Respondents",
    "answer",
    "look_over",
]
