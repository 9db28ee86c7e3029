"""Budgets: plans that ask, ledgers that charge, audits that verify."""

from graphveil.privacy.ledger import Charge, Ledger, answer
from graphveil.privacy.plan import Plan

__all__ = ["Charge", "Ledger", "Plan", "answer"]
