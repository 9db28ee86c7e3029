"""The base class of mechanisms (encode and respond on the client, decode on the server) and its estimates."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.channel import FiniteChannel, digest
from graphveil.channels.exact import Claim, Loss
from graphveil.channels.sampling import RandomBits, code_type
from graphveil.errors import ClaimError, InputError
from graphveil.mechanisms.reports import Reports, even_pointers, row_pointers
from graphveil.mechanisms.rows import Rows

if TYPE_CHECKING:
    from graphveil.mechanisms.features import Asking


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimates of all users' values: ``offset`` everywhere, plus ``values`` at the reported places.

    ``indices`` None means that every row reports all its dimensions, in order. ``unbiased`` says whether the mean of the
    whole (offset included) is the true value; where it is not, the mechanism's docstring says what it is.
    """

    shape: tuple[int, int]
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32] | None
    values: NDArray[np.float64]
    offset: float
    unbiased: bool

    def dense(self) -> NDArray[np.float64]:
        """Return the whole matrix, offset included: (users, dimensions) float64."""
        if self.indices is None:
            return self.values.reshape(self.shape) + self.offset
        matrix = np.full(self.shape, self.offset)
        owners = np.repeat(np.arange(self.shape[0]), np.diff(self.indptr))
        matrix[owners, self.indices] += self.values
        return matrix

    def first(self, count: int) -> Estimate:
        """Return the estimates of the first ``count`` dimensions."""
        kept = min(count, self.shape[1])
        shape = (self.shape[0], kept)
        if self.indices is None:
            values = self.values.reshape(self.shape)[:, :kept].ravel()
            return replace(self, shape=shape, indptr=np.arange(shape[0] + 1) * kept, values=values)
        chosen = self.indices < kept
        indptr = row_pointers(chosen.astype(np.int64))[self.indptr]
        return replace(
            self, shape=shape, indptr=indptr, indices=self.indices[chosen], values=self.values[chosen]
        )

    def spread(self, answered: NDArray[np.bool_]) -> Estimate:
        """Return the estimate with an empty row for everybody who was asked and did not answer.

        ``answered`` is (asked,) bool, with as many true entries as this estimate has rows.
        """
        lengths = np.zeros(len(answered), dtype=np.int64)
        lengths[answered] = np.diff(self.indptr)
        shape = (len(answered), self.shape[1])
        return replace(self, shape=shape, indptr=row_pointers(lengths), indices=self._columns)

    def to_scipy(self) -> Any:
        """Return the sparse part as a ``scipy.sparse.csr_array``, without the offset; needs scipy."""
        from scipy.sparse import csr_array

        return csr_array((self.values, self._columns, self.indptr), shape=self.shape)

    @property
    def _columns(self) -> NDArray[np.int32]:
        """The dimension of each entry."""
        if self.indices is not None:
            return self.indices
        return np.tile(np.arange(self.shape[1], dtype=np.int32), self.shape[0])

    def __repr__(self) -> str:
        kind = "unbiased" if self.unbiased else "biased"
        return f"Estimate({self.shape[0]} x {self.shape[1]}, {self.values.size} entries, {kind})"


Subject = Literal["features", "label", "level", "links"]
# Who must be trusted: nobody, where every user adds the noise; or a curator, who sees what all of them hold and adds it.
Trust = Literal["local", "curator"]

# Whole reports are enumerated up to this many different ones.
MAX_OUTCOMES = 1 << 20


@dataclass(frozen=True)
class Answer:
    """``count`` independent answers through one channel, as part of a report."""

    channel: FiniteChannel
    count: int


@dataclass(frozen=True)
class ReportShape:
    """The format of a report, and the number of values read and estimated for a user.

    Parameters
    ----------
    length
        The number of codes in a report; the largest number where reports are ``uneven``.
    alphabet
        The number of different codes.
    dimensions
        The number of values estimated for each user.
    names_dimensions
        Whether a report says which dimension each of its codes is about.
    uneven
        Whether a report may hold fewer codes than ``length``; the number is then part of its answer.
    places
        The number of different places a report may name; 0 means the number of dimensions.
    row_length
        The number of values read from a user; 0 means the number of dimensions.
    """

    length: int
    alphabet: int
    dimensions: int
    names_dimensions: bool = False
    uneven: bool = False
    places: int = 0
    row_length: int = 0

    def __post_init__(self) -> None:
        for name in ("places", "row_length"):
            object.__setattr__(self, name, getattr(self, name) or self.dimensions)


class Mechanism(ABC):
    """A way to report private data, with its claim.

    A subclass says what one report consists of (`answers`), makes reports (`randomize`, on the client, the only method
    that sees private data) and decodes them (`estimate`, on the server). The exact loss follows from the answers.
    """

    name: str
    claim: Claim
    subject: Subject
    unbiased: bool
    # Whether a report is made of finite channels' answers, so that its probabilities are tables of integers.
    finite: ClassVar[bool] = True
    # Who adds the noise.
    trust: ClassVar[Trust] = "local"
    # The budgets of the privacy levels that users choose from, rising; empty where they choose none and all pay the claim.
    budgets: tuple[float, ...] = ()

    @property
    @abstractmethod
    def answers(self) -> tuple[Answer, ...]:
        """The independent answers that one report consists of."""

    @property
    @abstractmethod
    def shape(self) -> ReportShape:
        """The format of a report: the same for everybody, whatever they hold."""

    @abstractmethod
    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        """Return the reports of some users, one for each row of ``private``.

        Random words come from the operating system unless ``random_bits`` is given. Only a shape that does not fit
        may be refused, as `count` does: whether somebody answers must not depend on a value.
        """

    def count(self, private: Any) -> int:
        """Return the number of users in ``private``, from its shape alone, which is public.

        Refuse a shape that does not fit.
        """
        return int(private.shape[0]) if hasattr(private, "shape") else len(private)

    def altered(self, private: Any) -> int:
        """Return the number of users whose data does not fit and is answered as something else.

        For the owner's eyes only.
        """
        return 0

    def costs(self, private: Any) -> NDArray[np.float64]:
        """Return the ε that each of these users spends; private where users choose a level."""
        return np.full(self.count(private), self.claim.epsilon)

    @property
    def asking(self) -> Asking | None:
        """The choice of the values that are asked; None where values are not answered one by one."""
        return None

    def of_users(self, places: Any) -> Mechanism:
        """Return the same question for some of those who are asked, by their places among them."""
        return self

    @property
    def beyond_audit(self) -> tuple[str, ...]:
        """The limits of an audit of this mechanism, in sentences."""
        return ()

    @abstractmethod
    def estimate(self, reports: Reports) -> Estimate:
        """Decode reports."""

    @abstractmethod
    def blind(self) -> Mechanism:
        """Return the control: the same mechanism with blinded channels; its reports carry nothing."""

    @abstractmethod
    def extremes(self) -> list[Any]:
        """Return private inputs of one user that whole reports tell apart best: candidates for an audit."""

    def check_reports(self, reports: Reports) -> None:
        """Refuse, with a MessageError, reports that fit the format but that no client can have sent."""
        return

    def check_owners(self, reports: Reports, owners: NDArray[np.int64]) -> None:
        """Refuse reports that answer for what their owners, given by number, were not asked about."""
        return

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
        if self.claim.delta == 0 and self.holds:
            return 0.0
        return min(1.0, float(sum(Fraction(answer.channel.delta) * answer.count for answer in self.answers)))

    @property
    def holds(self) -> bool:
        """Whether the claim holds for a whole report; decided in exact arithmetic."""
        # A channel's loss is the one at its own δ: a claim without δ is not kept by channels that need one.
        spent = sum(Fraction(answer.channel.claim.delta) * answer.count for answer in self.answers)
        if spent > Fraction(self.claim.delta) or self.loss.exceeds(self.claim.epsilon):
            return False
        return self.claim.delta == 0 or all(answer.channel.holds for answer in self.answers)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256, in 64 digits, of all that a client must know to report and a server to decode.

        It is taken over canonical bytes. Names of classes are not part of it: docs/wire-format.md lists its
        parts for every kind of mechanism.
        """
        return digest(
            {
                "name": self.name,
                "subject": self.subject,
                "claim": [self.claim.epsilon, self.claim.delta],
                "answers": [[answer.channel.fingerprint, answer.count] for answer in self.answers],
                **self.described(),
            }
        )

    def described(self) -> dict[str, Any]:
        """Return what distinguishes two mechanisms besides name, claim and answers, as `canonical` takes it."""
        return {"dims": self.shape.dimensions}


class Enumerable(Mechanism):
    """A mechanism whose whole reports can be listed with exact probabilities, if there are few enough."""

    @abstractmethod
    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        """Return how often each possible whole report of one user occurs, in a fixed order, and the total.

        Exact. Raises an InputError if there are too many different reports.
        """

    def possible_reports(self) -> Reports:
        """Return every possible whole report, each as the report of one user, in the order of `joint_counts`.

        All strings of codes, the last code changing fastest; a mechanism that names dimensions says how it orders them.
        """
        if self.shape.names_dimensions:
            raise InputError(f"the possible reports of {self.name} are not enumerated")
        length, alphabet = self.shape.length, self.shape.alphabet
        if length * math.log(alphabet) > math.log(MAX_OUTCOMES):
            raise InputError(f"{self.name} has too many reports to enumerate: take fewer dimensions")
        codes = np.indices((alphabet,) * length).reshape(length, -1).T
        return Reports(
            self, even_pointers(len(codes), length), None, codes.ravel().astype(code_type(alphabet))
        )

    def describe_outcome(self, index: int) -> str:
        """Return a description of the whole report at this place of `joint_counts`."""
        return f"code {index}"


class RowMechanism(Mechanism):
    """A mechanism that estimates the values of a row, on a scale that is public."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The root mean square of an entry of an estimate (offset aside), all inputs equally likely; public."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """B, the largest magnitude of an entry of an estimate (offset aside); public."""

    def count(self, private: Any) -> int:
        return Rows(private, self.shape.row_length).users


def row_mechanism(mechanism: Mechanism) -> RowMechanism:
    """Return the mechanism if it is one for rows, whose estimates have a scale; refuse it otherwise."""
    if not isinstance(mechanism, RowMechanism):
        raise InputError(f"{mechanism.name} reports no values of rows: it has no scale")
    return mechanism


M = TypeVar("M", bound=Mechanism)


def verified(mechanism: M) -> M:
    """Return the mechanism if its claim holds.

    For one whose claim rests on more than its channels' claims.
    """
    if not mechanism.holds:
        raise ClaimError(
            f"{mechanism.name} claims {mechanism.claim} but a whole report has epsilon {mechanism.epsilon:.12g}: "
            "the constructor is wrong"
        )
    return mechanism
