"""Budgets: plans that ask, ledgers that charge, audits that verify."""

from graphveil.privacy.audit import Audit, audit
from graphveil.privacy.check import check_mechanism
from graphveil.privacy.ledger import Charge, Ledger, answer
from graphveil.privacy.plan import Plan

__all__ = ["Audit", "Charge", "Ledger", "Plan", "answer", "audit", "check_mechanism"]
