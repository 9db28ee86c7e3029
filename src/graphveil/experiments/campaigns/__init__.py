"""Attacks over several runs and budgets, beside chance, control and bound."""
