"""Budgets: plans that ask, ledgers that charge, and the one function that answers."""

from graphveil.privacy.answering import Nobody, Respondents, answer, look_over
from graphveil.privacy.envelope import Envelope, Question, SignedQuestion
from graphveil.privacy.integer_model import integer_model
from graphveil.privacy.invitation import Invitation
from graphveil.privacy.ledger import Charge, Ledger
from graphveil.privacy.plan import Plan, join_parts, plan_digest
from graphveil.privacy.reach import attributes_in_reach
from graphveil.privacy.succession import SignedSuccession, Succession

__all__ = [
    "Charge",
    "Envelope",
    "Invitation",
    "Ledger",
    "Nobody",
    "Plan",
    "Question",
    "Respondents",
    "SignedQuestion",
    "SignedSuccession",
    "Succession",
    "answer",
    "attributes_in_reach",
    "integer_model",
    "join_parts",
    "look_over",
    "plan_digest",
]
