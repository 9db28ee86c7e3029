"""What every mechanism is: encode and respond on the client, decode on the server."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel
from graphveil.channels.exact import Claim, Loss
from graphveil.channels.words import Words
from graphveil.mechanisms.estimate import Estimate
from graphveil.mechanisms.reports import Reports

Subject = Literal["features", "label", "level"]


@dataclass(frozen=True)
class Answer:
    """One report consists of ``count`` independent answers through this channel."""

    channel: FiniteChannel
    count: int


class Mechanism(ABC):
    """A way to report private data, with its claim.

    A subclass says what one report consists of (`answers`), makes reports (`randomize`, on the client, the only method
    that sees private data) and decodes them (`estimate`, on the server). The exact loss follows from the answers.
    """

    name: str
    claim: Claim
    subject: Subject
    unbiased: bool

    @property
    @abstractmethod
    def answers(self) -> tuple[Answer, ...]:
        """The independent answers that one report consists of."""

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """How many values an estimate has for each user."""

    @property
    @abstractmethod
    def alphabet(self) -> int:
        """How many different codes a report may hold."""

    @property
    @abstractmethod
    def report_length(self) -> int:
        """How many codes a report holds: the same for everybody."""

    @property
    @abstractmethod
    def names_dimensions(self) -> bool:
        """Whether a report says which dimension each of its codes is about."""

    @abstractmethod
    def randomize(self, private: Any, words: Words | None = None) -> Reports:
        """The reports of some users, one row of ``private`` each; words from the operating system unless given."""

    @abstractmethod
    def estimate(self, reports: Reports) -> Estimate:
        """Decode reports."""

    @abstractmethod
    def blind(self) -> Mechanism:
        """The control: the same mechanism with blinded channels; its reports carry nothing."""

    @abstractmethod
    def extremes(self) -> list[Any]:
        """Private inputs of one user that a whole report tells apart best; candidates for an audit."""

    @abstractmethod
    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        """How often each possible whole report of one user occurs, in a fixed order, out of the returned total; exact.

        Refused with an InputError where there are too many different reports, or infinitely many.
        """

    def describe_outcome(self, index: int) -> str:
        """Which whole report stands at this place of `joint_counts`, in words."""
        return f"code {index}"

    @property
    def loss(self) -> Loss:
        """The exact privacy loss of a whole report."""
        return Loss.total(answer.channel.loss.times(answer.count) for answer in self.answers)

    @property
    def epsilon(self) -> float:
        """The exact ε of a whole report, rounded up (at the claimed δ, if there is one)."""
        return self.loss.epsilon

    @property
    def delta(self) -> float:
        """The exact δ of a whole report at its claimed budget, by addition over its answers."""
        if self.claim.delta == 0 and not self.loss.exceeds(self.claim.epsilon):
            return 0.0
        return min(1.0, float(sum(Fraction(answer.channel.delta) * answer.count for answer in self.answers)))

    @property
    def holds(self) -> bool:
        """Whether the claim holds for a whole report; decided in exact arithmetic."""
        if self.claim.delta == 0:
            return not self.loss.exceeds(self.claim.epsilon)
        spent = sum(Fraction(answer.channel.claim.delta) * answer.count for answer in self.answers)
        each = all(answer.channel.holds for answer in self.answers)
        return each and spent <= Fraction(self.claim.delta) and not self.loss.exceeds(self.claim.epsilon)

    @property
    def fingerprint(self) -> str:
        """A digest of what a server must know to decode a report: 32 hexadecimal digits."""
        parts = [self.name, repr(self.claim), *self._settings()]
        parts += [f"{answer.channel.fingerprint}*{answer.count}" for answer in self.answers]
        return hashlib.blake2b("|".join(parts).encode(), digest_size=16).hexdigest()

    def _settings(self) -> list[str]:
        """What distinguishes two mechanisms besides their name, claim and answers."""
        return [str(self.dimensions)]
