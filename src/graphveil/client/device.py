"""Device: one person's side of collections. It checks what it is asked, charges, and only then has something to send."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from graphveil.channels.exact import Claim
from graphveil.client.agreement import Agreement
from graphveil.client.books import Books, Line, check_memory, open_books, transaction
from graphveil.client.checking import checked_question, exact_claim
from graphveil.client.held import Held
from graphveil.client.keys import KeyChain, enrolled_chain
from graphveil.client.witness import Witness, check_apart, locked_witness, move_witness
from graphveil.errors import BudgetError, InputError, PrivacyError, RefusalError
from graphveil.mechanisms import PersonalRows
from graphveil.mechanisms.links import told_by_both_ends
from graphveil.mechanisms.rows import PublicRange
from graphveil.privacy import Envelope, Ledger, Plan, Question, SignedQuestion, SignedSuccession, answer
from graphveil.privacy.ledger import add_up
from graphveil.settings import former_witness_folders, witness_folder


@dataclass(frozen=True)
class Inquiry:
    """A question as its owner reads it before anything is answered.

    ``exact`` is what an answer costs by the integers of its tables, ``claim`` what is charged, ``left`` what the cap leaves before
    it. Where it was ``kept``, it was answered before: the same bytes are sent again, which costs nothing.

    A question about links is charged what one link costs if the server tells everybody the same numbers of people, so that one end of it answers.
    """

    question: Question
    claim: Claim
    exact: Claim
    left: Claim
    kept: bool

    @property
    def link_at_most(self) -> Claim | None:
        """The cost of a link if the server lies about numbers, and both its ends answer.

        None where that is no more.
        """
        most = told_by_both_ends(self.question.plan.build())
        return most if self.question.plan.subject == "links" and most != self.claim else None


@dataclass(frozen=True)
class Sealed:
    """An answer that was charged: what may be sent, to which round, under which id. It is the same whenever it is asked for."""

    round: int
    report: str
    envelope: bytes


@dataclass(frozen=True)
class Spending:
    """The spending in one collection: in the period that counts against the cap, and in all, which adds up.

    ``row_given`` is when the raw row was given by consent (seconds since 1970), which no ε describes.
    """

    agreement: Agreement
    period: int
    left: Claim
    lifetime: Claim
    lines: tuple[Line, ...]
    row_given: int | None


class Device:
    """A ledger on disk for one person, and the answers that it has paid for.

    Charge and answer are one transaction, on the disk before there is anything to send. An answer is kept under its collection and
    its plan: asked again, the device has the same bytes, whatever became of the row. A plan that differs in anything is another one,
    with noise of its own, and is charged.

    Several processes may use one file. A file that comes from an old backup is noticed (see `graphveil.client.witness`), and
    answers nothing until `recover` is told what was spent.
    """

    def __init__(
        self, path: Path | str, *, witnesses: Path | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self.path = Path(path)
        self._witnesses = witness_folder() if witnesses is None else witnesses
        self._clock = clock
        check_apart(self.path, self._witnesses)
        self._instance = open_books(self.path, self._witnesses)
        if witnesses is None:
            for former in former_witness_folders():
                move_witness(former, self._witnesses, self._instance)

    def agreements(self) -> tuple[Agreement, ...]:
        """All collections that the owner takes part in."""
        with transaction(self.path) as books:
            return tuple(books.agreements())

    def agreement(self, collection: str) -> Agreement:
        """Return the agreement with a collection."""
        found = [each for each in self.agreements() if each.collection == collection]
        if not found:
            raise InputError("this device is not enrolled in that collection: enrol with a token first")
        return found[0]

    def keys(self, collection: str) -> tuple[bytes, ...]:
        """All keys that a collection has had, as far as this device has followed them; the last one counts."""
        agreement = self.agreement(collection)
        with transaction(self.path) as books:
            return books.chain(agreement).keys

    def books(self) -> AbstractContextManager[Books]:
        """Return the books in a transaction: what is written is kept as a whole, or not at all."""
        return transaction(self.path)

    def agree(
        self,
        agreement: Agreement,
        served: Sequence[SignedSuccession] | None = None,
        token: bytes | None = None,
    ) -> None:
        """Keep what was agreed on at enrolment, for good: it cannot be changed, and the same again is no change.

        The credential that was drawn for it is registered by then, and counts from now on. Where the device has answered that collection before, and its
        books come from a time before that, the cap counts as spent.

        Parameters
        ----------
        agreement
            The terms.
        served
            How the collection's key came about, as `enrolled_chain` has checked it.
        token
            The SHA-256 of the token that registered the credential.
        """
        with locked_witness(self._witnesses, self._instance) as witness, transaction(self.path) as books:
            for known in books.agreements():
                if known.collection == agreement.collection:
                    if served is not None:
                        known = _followed(books, witness, known, books.chain(known).followed(served))
                    if agreement.offer.key in books.chain(known).keys:
                        agreement = _with_key(agreement, known.offer.key)
                    if replace(known, enrolled=agreement.enrolled) != agreement:
                        raise InputError("this device is enrolled there already, and its terms hold for good")
                    books.confirm_credential(agreement.collection, token)
                    return
            books.agree(agreement)
            books.confirm_credential(agreement.collection, token)
            key = agreement.offer.key
            _followed(books, witness, agreement, enrolled_chain(agreement.collection, key, key, served or ()))
            if witness.has_answered(agreement.collection):
                books.charge([self._missing(books, agreement, None)])

    def follow(self, collection: str, served: Sequence[SignedSuccession]) -> int:
        """Follow the changes of a collection's key that its server shows; how many there were in all.

        What was signed by an older key is refused from then on. Nothing is renewed by it: books, cap and kept answers are the collection's.
        """
        agreement = self.agreement(collection)
        with locked_witness(self._witnesses, self._instance) as witness, transaction(self.path) as books:
            chain = books.chain(agreement).followed(served)
            _followed(books, witness, agreement, chain)
        return chain.number

    def note_answered(self, collection: str, count: int | None) -> None:
        """Compare the books with the collector's own count of this device's answers; None, where there is no count, changes nothing.

        Where the books know fewer answers they come from an old backup: nothing more is answered in this collection until `recover`. A count that
        is a lie can stop that, and nothing else.
        """
        if count is not None:
            with transaction(self.path) as books:
                books.keep_count(collection, count)

    def look(self, collection: str, signed: SignedQuestion) -> Inquiry:
        """Return what a question is and costs, without answering.

        Raise a RefusalError if it would not be answered.
        """
        agreement = self.agreement(collection)
        question = checked_question(signed, agreement, self._clock())
        with locked_witness(self._witnesses, self._instance) as witness, transaction(self.path) as books:
            check_memory(witness, books, collection)
            _check_key(books, witness, agreement)
            kept = books.find(collection, question.digest) is not None
            ledger, _ = self._ledger(books, agreement, None)
            left = _left(ledger)
            if not kept:
                # On a ledger that nobody keeps.
                with _within_cap(question.plan):
                    ledger.charge(question.plan)
        mechanism = question.plan.build()
        return Inquiry(question, mechanism.claim, exact_claim(question.plan, mechanism), left, kept)

    def answer(self, collection: str, signed: SignedQuestion, held: Held) -> Sealed:
        """Charge a question and answer it, both or neither. A question that was answered before gets the same bytes, for nothing.

        Parameters
        ----------
        collection
            The collection's id.
        signed
            The signed question.
        held
            The owner's data.
        """
        agreement = self.agreement(collection)
        question = checked_question(signed, agreement, self._clock())
        held.check(agreement.offer.dims)
        private = held.asked(question.plan, agreement.user)
        with locked_witness(self._witnesses, self._instance) as witness:
            with transaction(self.path) as books:
                check_memory(witness, books, collection)
                _check_key(books, witness, agreement)
                line = books.find(collection, question.digest)
                if line is None:
                    ledger, period = self._ledger(books, agreement, held)
                    line = _drawn(question, private, ledger, agreement)
                    books.charge([replace(line, period=period, time=int(self._clock()))])
                mark = books.mark
            # The charge is on the disk. The witness sees it before the answer is anybody else's.
            witness.see(mark)
            witness.answers(collection)
        assert line.report is not None and line.envelope is not None
        return Sealed(question.round, line.report, line.envelope)

    def give_row(self, collection: str, held: Held) -> list[float]:
        """The raw row, for a collection to which the owner has agreed to give it. It is recorded before it is given.

        A value that is missing is the middle of the range: JSON has only numbers.
        """
        agreement = self.agreement(collection)
        if not agreement.volunteer:
            raise PrivacyError("the owner did not agree at enrolment to give the raw row to this collection")
        held.check(agreement.offer.dims)
        if held.row is None:
            raise InputError("this device holds no row to give")
        with transaction(self.path) as books:
            books.give_row(collection, int(self._clock()))
        public = PublicRange.of(agreement.offer.range)
        told = np.nan_to_num(
            held.row[0].astype(np.float64), nan=public.centre, posinf=public.high, neginf=public.low
        )
        return [float(value) for value in told]

    def spendings(self) -> tuple[Spending, ...]:
        """Return what was spent in every collection, for the owner's eyes."""
        with transaction(self.path) as books:
            return tuple(self._spending(books, agreement) for agreement in books.agreements())

    def doubt(self, collection: str) -> RefusalError | None:
        """Return why nothing is answered in a collection until `recover`; None where the books know what was spent there.

        They do not where they were restored from an old backup, copied or moved, or where the collector has more answers than they know.
        """
        with locked_witness(self._witnesses, self._instance) as witness, transaction(self.path) as books:
            try:
                check_memory(witness, books, collection)
            except RefusalError as refusal:
                return refusal
        return None

    def recover(self, spent: Mapping[str, Claim] | None = None) -> None:
        """Go on with books that were restored, copied or moved: ``spent`` says what was spent in each collection in this period.

        A collection that is not named counts as spent up to its cap: nothing more is answered there. Where only a collector's count of
        answers says that the books are old, that goes for its collection alone. Nothing that the books know is ever taken back. Answers that they do
        not know are gone: the same plan is answered anew, and charged.
        """
        told = dict(spent or {})
        with locked_witness(self._witnesses, self._instance) as witness:
            with transaction(self.path) as books:
                known = {agreement.collection: agreement for agreement in books.agreements()}
                strangers = set(told) - set(known)
                if strangers:
                    raise InputError("this device is not enrolled in a collection that was named")
                lost = not books.continue_from(witness)
                doubtful = [name for name in known if lost or name in told or books.misses_answers(name)]
                books.charge([self._missing(books, known[name], told.get(name)) for name in doubtful])
                for name in doubtful:
                    books.accept_count(name)
                seen = witness.mark
                mark = books.move(max(books.mark.count, 0 if seen is None else seen.count) + 1)
            witness.see(mark)

    def _ledger(self, books: Books, agreement: Agreement, held: Held | None) -> tuple[Ledger, int]:
        """The owner's ledger as the books have it, and the period that it is about."""
        cap, lines = agreement.cap, books.lines(agreement.collection)
        # A clock that was set back makes no period an earlier one.
        passed = cap.period(agreement.enrolled, self._clock())
        period = max([passed, *(line.period for line in lines)])
        level = 1 if held is None or held.level is None else held.level
        # An invalid level counts as the strictest, as in an answer.
        levels = (
            None if cap.by_level is None else PersonalRows([level], None).clipped_levels(len(cap.by_level))
        )
        ledger = Ledger(1, cap.epsilon, cap.delta, by_level=cap.by_level, levels=levels, first=agreement.user)
        for line in lines:
            if line.period == period:
                ledger.carry_over(line.costs, line.delta)
        return ledger, period

    def _spending(self, books: Books, agreement: Agreement) -> Spending:
        ledger, period = self._ledger(books, agreement, None)
        lines = tuple(books.lines(agreement.collection))
        lifetime = add_up(Claim(max(line.costs), line.delta) for line in lines)
        given = books.row_given(agreement.collection)
        return Spending(agreement, period, _left(ledger), lifetime, lines, given)

    def _missing(self, books: Books, agreement: Agreement, told: Claim | None) -> Line:
        """Return what the books do not know of what was spent in the period."""
        period = self._ledger(books, agreement, None)[1]
        cap = agreement.cap
        budgets = [cap.epsilon + more for more in cap.by_level or (0.0,)]
        lines = [line for line in books.lines(agreement.collection) if line.period == period]
        booked = [sum(line.costs[level] for line in lines) for level in range(len(budgets))]
        stated = budgets if told is None else [told.epsilon] * len(budgets)
        costs = tuple(max(0.0, most - known) for most, known in zip(stated, booked, strict=True))
        delta = max(0.0, (cap.delta if told is None else told.delta) - sum(line.delta for line in lines))
        now = int(self._clock())
        return Line(agreement.collection, None, period, costs, delta, max(costs), max(costs), now)

    def __repr__(self) -> str:
        return f"Device({str(self.path)!r})"


def _followed(books: Books, witness: Witness, agreement: Agreement, chain: KeyChain) -> Agreement:
    """Record the keys of a collection, unless the witness has seen others; the agreement with the one that counts."""
    seen = witness.key(agreement.collection)
    if seen is not None and (chain.number < seen[0] or chain.keys[seen[0]] != seen[1]):
        raise RefusalError(
            "key",
            "the server does not show the change of its key that this device has followed before: it was set back, or is not the "
            "collection's own",
        )
    if chain.number:
        books.keep_chain(chain)
        witness.follows(agreement.collection, chain.number, chain.current)
    return _with_key(agreement, chain.current)


def _with_key(agreement: Agreement, key: bytes) -> Agreement:
    return replace(agreement, offer=replace(agreement.offer, key=key))


def _check_key(books: Books, witness: Witness, agreement: Agreement) -> None:
    """Refuse where a newer key is known than the question was checked by."""
    chain, seen = books.chain(agreement), witness.key(agreement.collection)
    if chain.current != agreement.offer.key or (seen is not None and chain.number < seen[0]):
        raise RefusalError("key", "the question was signed by an older key: look again at what is asked")


def _drawn(question: Question, private: object, ledger: Ledger, agreement: Agreement) -> Line:
    """The charge of a question with its answer in an envelope: not there for anybody until it is on the disk."""
    plan = question.plan
    costs = tuple(float(cost) for cost in ledger.costs_by_level(plan))
    with _within_cap(plan):
        reports = answer(plan, private, ledger)
    envelope = Envelope(secrets.token_hex(16), agreement.pseudonym, question.digest, reports.to_bytes())
    return Line(
        collection=agreement.collection,
        digest=question.digest,
        period=0,
        costs=costs,
        delta=plan.claim.delta,
        spent=float(ledger.spent[0]),
        exact=plan.build().epsilon,
        time=0,
        round=question.round,
        plan=f"{plan.mechanism} {plan.subject} {plan.of}",
        report=envelope.report,
        envelope=envelope.to_bytes(),
    )


@contextmanager
def _within_cap(plan: Plan) -> Iterator[None]:
    """Refuse a plan that costs more than the ledger has left."""
    try:
        yield
    except BudgetError:
        raise RefusalError(
            "cap",
            f"the question costs epsilon {plan.claim.epsilon:g} and delta {plan.claim.delta:g}, which is more than is left of the cap that "
            "was agreed on at enrolment",
        ) from None


def _left(ledger: Ledger) -> Claim:
    epsilon, delta = ledger.left
    return Claim(float(epsilon[0]), float(delta[0]))
