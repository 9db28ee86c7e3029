"""Budgets: plans that ask, ledgers that charge, audits that verify."""

from graphveil.privacy.answering import Nobody, Respondents, answer, look_over
from graphveil.privacy.audit import Audit, audit
from graphveil.privacy.check import check_mechanism
from graphveil.privacy.ledger import Charge, Ledger
from graphveil.privacy.plan import Plan

__all__ = [
    "Audit",
    "Charge",
    "Ledger",
    "Nobody",
    "Plan",
    "Respondents",
    "answer",
    "audit",
    "check_mechanism",
    "look_over",
]
