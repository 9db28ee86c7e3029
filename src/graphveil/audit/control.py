"""Is the control blind? What `blind()` gives must carry nothing: experiments measure against it what reports are worth.

Two looks: the tables of its channels, where all rows must be equal as integers; and its reports, which must be the same for all
values where the random words are the same.
"""

from __future__ import annotations

from typing import Any

from graphveil.audit.findings import CONTROL, Leak, Rank, Step, batch, reports_of, same_reports
from graphveil.audit.inputs import misfits, valid_inputs
from graphveil.audit.trust import is_blind, with_values
from graphveil.channels.words import SeededWords
from graphveil.errors import InputError
from graphveil.mechanisms.base import Mechanism
from graphveil.mechanisms.own import is_own
from graphveil.mechanisms.rows import PublicRange

# Users of one look.
USERS, SEED = 64, 21


def control_step(mechanism: Mechanism, public: PublicRange | None) -> Step:
    """Whether the control of a mechanism carries nothing."""
    try:
        control = mechanism.blind()
    except (NotImplementedError, InputError):
        gap = "Its control: it has none (`blind` refuses), so nothing shows what a budget buys with it."
        return Step(CONTROL, "left out: it has no control", skipped=True, gaps=(gap,))
    leaks = [*sighted_tables(control), *sighted_reports(control, public)]
    seen = "with the same random words it gives the same reports for all values"
    if mechanism.finite:
        seen = f"exact epsilon 0 by its tables, and {seen}"
    return Step(
        CONTROL, seen, tuple(Leak(f"its control is not blind: {leak}", Rank.CONTROL) for leak in leaks)
    )


def sighted_tables(control: Mechanism) -> list[str]:
    """The channels of a control whose rows differ, in sentences."""
    if control.claim.epsilon != 0:
        return [f"it claims epsilon {control.claim.epsilon:g}, and not 0"]
    if is_own(control) or control.trust == "curator":
        return (
            []
            if control.loss.terms == ()
            else [f"it has an exact epsilon of {control.epsilon:.6g}, and not 0"]
        )
    for answer in control.answers:
        # Where users hold a level, it is answered as usual.
        if not is_blind(answer.channel) and answer.channel is not getattr(control, "level_channel", None):
            return [f"{answer.channel.name} has an exact epsilon of {answer.channel.epsilon:.6g}, and not 0"]
    return []


def sighted_reports(control: Mechanism, public: PublicRange | None) -> list[str]:
    """Whether a control answers some values differently, with the same random words."""
    inputs = {**valid_inputs(control, public), **misfits(control, public)}
    first: Any = None
    for title, private in inputs.items():
        rows = batch(private, USERS)
        if control.personal:
            # The same users with other values: a level is answered as usual.
            rows = with_values(control, batch(next(iter(inputs.values())), USERS), rows[:, :-1])
        reports = reports_of(control, rows, SeededWords(SEED))
        first = first or (title, reports)
        if not same_reports(first[1], reports):
            leak = f"with the same random words it answers {first[0]} and {title} differently"
            return [f"{leak}, so values reach its reports by a channel that is not blind, or past it"]
    return []
