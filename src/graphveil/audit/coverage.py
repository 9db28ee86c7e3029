"""What an audit does not cover: said with every one, so that nobody takes silence for a proof; of code from outside, first."""

from __future__ import annotations

from graphveil.mechanisms.base import Mechanism

FOREIGN = (
    "Code that recognises an audit and behaves only while it is looked at. This mechanism is not graphveil's own: its tables are "
    "proved, its code was tested, so the audit is evidence and not proof."
)
ALWAYS = (
    "Timing, memory, caches and power: only the number of random words is compared.",
    "The words themselves: a weak generator or a seed of low entropy outside the mechanism is not seen.",
    "State between processes: files, clocks or networks that a mechanism reads or writes.",
    "Faults that come more rarely than the draws show, or at single values, sizes or settings that were not tried.",
    "More than one report of a user: budgets of several reports add up, which the ledger counts and not the audit.",
    "What the reports of others, or the public graph, tell about a user.",
)


def not_covered(
    mechanism: Mechanism, refused: list[str], enumerated: bool, foreign: bool, together: str | None
) -> list[str]:
    """All that was not looked at, in sentences; ``together`` says why a ``foreign`` mechanism was not run in a process of its own."""
    gaps = [FOREIGN] if foreign else []
    if together is not None:
        gaps.append(
            f"What it remembers between calls: it could not be loaded in a process of its own ({together}). Name the function that "
            "builds it as FILE.py:NAME."
        )
    if not mechanism.finite:
        gaps.append(
            "The closed form of its epsilon, and how near floating-point draws come to it: only reports were tested."
        )
    elif not enumerated:
        gaps.append(
            "Whole reports: there are too many to enumerate, so dependences of more than three answers may remain."
        )
    if mechanism.trust == "curator":
        gaps.append(
            "The curator: what it keeps, how long it takes and how many random words it draws, which depend on what users hold."
        )
        gaps.append("Whole graphs: a small number of cells stands for them, one input a row.")
    gaps += mechanism.beyond_audit
    if refused:
        gaps.append(f"Paths that the mechanism does not take: {', '.join(refused)}.")
    return [*gaps, *ALWAYS]
