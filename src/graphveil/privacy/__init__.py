"""Budgets: plans that ask, ledgers that charge, and the one function that answers."""

from graphveil.privacy.answering import Nobody, Respondents, answer, look_over
from graphveil.privacy.integer_model import integer_model
from graphveil.privacy.ledger import Charge, Ledger
from graphveil.privacy.parts import join_parts
from graphveil.privacy.plan import Plan

__all__ = [
    "Charge",
    "Ledger",
    "Nobody",
    "Plan",
    "Respondents",
    "answer",
    "integer_model",
    "join_parts",
    "look_over",
]
