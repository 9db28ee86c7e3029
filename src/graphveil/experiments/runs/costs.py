"""The parts of a privacy record: what a user has spent, what one question was, what volunteers gave."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from graphveil.audit.findings import rounded_up
from graphveil.experiments.runs.format import counted

# Digits of an ε or δ in a sentence.
DIGITS = 6


class RecordPart(BaseModel):
    """Something that a privacy record says."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Cost(RecordPart):
    """What a user has spent at most; an ε of None is no protection at all.

    ``per_level`` is what users of each level have spent, ``norm`` the part of it that norms cost.
    """

    epsilon: float | None
    delta: float = 0.0
    per_level: list[float] | None = None
    norm: float | None = None

    @property
    def words(self) -> str:
        """ε and, where there is one, δ; the budgets of all levels where users chose one.

        >>> Cost(epsilon=1.0).words, Cost(epsilon=8.0, per_level=[2.0, 4.0, 8.0]).words
        ('ε = 1', 'ε = 2, 4 or 8 by level')
        >>> Cost(epsilon=3.0, norm=1.0).words
        'ε = 3, 1 of it for norms'
        """
        norms = f", {number(self.norm)} of it for norms" if self.norm else ""
        if self.per_level:
            *lower, last = (number(each) for each in self.per_level)
            return f"ε = {', '.join(lower)} or {last} by level{norms}"
        return self.most + norms

    @property
    def most(self) -> str:
        """ε and, where there is one, δ: the most that anybody has spent."""
        return f"ε = {number(self.epsilon)}" + (f", δ = {number(self.delta)}" if self.delta else "")


class Round(RecordPart):
    """One question: what it was about, by which mechanism, how many were asked, what it claims and what its tables say."""

    subject: str
    round: int
    mechanism: str
    users: int
    epsilon: float
    delta: float = 0.0
    exact: float | None = None
    of: str = "values"


class PanelGiven(RecordPart):
    """What volunteers gave by consent: how many there are, and that their features were read in the clear.

    So many of them were ``asked`` besides, about features, labels or levels, and charged like everybody.
    """

    users: int
    raw: bool = True
    asked: int = 0

    @property
    def words(self) -> str:
        """Who gave what.

        >>> PanelGiven(users=300).words, PanelGiven(users=1).words
        ('300 volunteers gave their raw features', '1 volunteer gave their raw features')
        """
        return f"{counted(self.users, 'volunteer')} gave their raw features"


def number(epsilon: float | None) -> str:
    """An ε as it is printed: rounded up. A stored result has None where it is infinite, as JSON knows no such number.

    >>> number(0.5), number(1.0000049), number(None)
    ('0.5', '1.00001', 'infinite')
    """
    return "infinite" if epsilon is None else rounded_up(epsilon, DIGITS)
