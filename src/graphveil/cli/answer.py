"""graphveil answer: take part in a collection from a terminal."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.channels.exact import Claim
from graphveil.checks import check_number
from graphveil.cli.console import confirmed, quoted, say
from graphveil.cli.options import parse_numbers
from graphveil.client import (
    Agreement,
    Calls,
    Cap,
    Device,
    Held,
    Http,
    Inquiry,
    Offer,
    Visited,
    enrol,
    give_row,
    own_credential,
    visit,
)
from graphveil.client.row_file import read_held, read_links
from graphveil.errors import InputError, ServerError
from graphveil.mechanisms import FeatureMechanism
from graphveil.number_format import rounded_up
from graphveil.privacy import Invitation, Plan
from graphveil.settings import device_file

FAILED, MISTAKEN = 1, 2
# What a collector says of a token that was used.
USED = 409


def answer(
    server: Annotated[str, typer.Option(help="The collector's address, as in https://collect.example.org.")],
    row: Annotated[
        Path,
        typer.Option(
            help="Your own row: a line of numbers (.csv), a list or an object (.json), an array (.npy)."
        ),
    ],
    token: Annotated[
        str | None,
        typer.Option(help="The invitation that you were given; needed the first time, and after a new one."),
    ] = None,
    device: Annotated[
        Path | None,
        typer.Option(
            help="The file of your books; unless given, in $GRAPHVEIL_STATE or your own data folder. A second record that notices restored "
            "backups is kept elsewhere: in $GRAPHVEIL_WITNESS or another folder of yours."
        ),
    ] = None,
    cap: Annotated[
        float | None,
        typer.Option(
            help="The most that you spend in this collection, as ε, for life; what it offers unless given."
        ),
    ] = None,
    cap_delta: Annotated[float, typer.Option(help="The same for δ; used with --cap.")] = 0.0,
    renew_days: Annotated[
        int | None,
        typer.Option(help="Grant the cap anew after so many days. Budgets add up: n periods cost n caps."),
    ] = None,
    exclude: Annotated[
        str | None,
        typer.Option(help="Attributes that no answer may depend on, by their numbers from 0: 3,17."),
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(
            help="Whom you are linked to, where the collection asks for links: a text file with an id a line, which stays here. Give it "
            "at enrolment, and an empty one if there is nobody: who answers tells then nothing.",
        ),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="The privacy level that you choose where a question has levels, 1: the strictest, which is taken unless given. It stays "
            "here; the cap counts what the least strict one costs.",
        ),
    ] = None,
    volunteer: Annotated[
        bool, typer.Option("--volunteer", help="Give the collection your row as it is, without any noise.")
    ] = False,
    spent: Annotated[
        float | None,
        typer.Option(
            help="After a backup was restored: the ε that you have spent in this collection. In others of this device all of it "
            "counts as spent."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Agree to everything without being asked.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """Look at what a collection asks of you, and answer it, randomized on this machine.

    What is asked, for which purpose, and what it costs is shown first.
    A question that breaks what was agreed on is refused, with the reason.
    Your row stays here, unless you volunteer it.

    Example: graphveil answer --server https://collect.example.org --token T --row me.csv

    Example: graphveil answer --server https://collect.example.org --row me.csv --yes

    Example: graphveil answer --server https://collect.example.org --token T --row me.csv --links friends.txt
    """
    held = read_held(row)
    if level is not None:
        held = replace(held, level=level)
    if links is not None:
        held = replace(held, neighbour_ids=read_links(links))
    terms = _terms(cap, cap_delta, renew_days)
    excluded = _whole_numbers(exclude)
    calls = Calls(Http(server))
    books = Device(device_file() if device is None else device)
    agreement = _known(books, calls, server, token)
    if agreement is None:
        agreement = _enrolled(books, calls, server, token, held, terms, excluded, volunteer, yes)
    elif cap is not None or exclude is not None or renew_days is not None:
        raise InputError(
            "you take part in this collection already, and its terms hold for good: leave out --cap, --exclude and --renew-days"
        )
    elif token is not None:
        _enrol_again(books, calls, agreement, token, held)
    _check_links(agreement, held)
    if spent is not None:
        check_number(spent, "--spent", least=0)
        credential = own_credential(books, calls, agreement.collection)
        books.note_answered(agreement.collection, calls.answered(credential))
        if books.doubt(agreement.collection) is None:
            raise InputError("the books of this device know what was spent: leave out --spent")
        books.recover({agreement.collection: Claim(spent, agreement.cap.delta)})
    seen = visit(books, calls, agreement.collection, held, lambda inquiry: _agreed(inquiry, agreement, yes))
    given = _row_given(books, calls, agreement, held, volunteer, yes)
    _tell(books, agreement, seen, given, as_json)
    failed = [each for each in seen if each.refusal is not None or each.status not in (None, 200, 201)]
    if failed or books.doubt(agreement.collection) is not None:
        untrue = any(each.refusal is not None and each.refusal.reason == "claim" for each in failed)
        raise typer.Exit(FAILED if untrue else MISTAKEN)


def _check_links(agreement: Agreement, held: Held) -> None:
    """Whether links are answered for is said at enrolment: what is given later must be what was said."""
    agreed = "links" in agreement.subjects
    if held.neighbour_ids is not None and not agreed:
        raise InputError(
            "you enrolled in this collection without a list of links, and terms hold for good: leave out --links"
        )
    if agreed and "links" not in held.subjects:
        raise InputError(
            "you answer this collection about links too: give --links, with an empty file if there is nobody"
        )


def _terms(cap: float | None, delta: float, renew_days: int | None) -> Cap | None:
    if cap is None:
        if renew_days is not None or delta:
            raise InputError("--cap-delta and --renew-days say more of a cap: give --cap too")
        return None
    return Cap(cap, delta, renewal_days=renew_days)


def _whole_numbers(text: str | None) -> tuple[int, ...]:
    numbers = parse_numbers("exclude", text) or ()
    if not all(number.is_integer() for number in numbers):
        raise InputError(f"--exclude takes numbers of attributes, counted from 0, got {text!r}")
    return tuple(map(int, numbers))


def _known(books: Device, calls: Calls, server: str, token: str | None) -> Agreement | None:
    """What was agreed on with this server before; with a token, in the collection that the server has now."""
    collection = None if token is None else calls.offer().collection
    known = [
        each for each in books.agreements() if each.server == server and collection in (None, each.collection)
    ]
    if not known and token is None:
        raise InputError(
            f"this device ({books.path}) takes part in no collection of {server} yet: give the --token of your invitation"
        )
    return known[-1] if known else None


def _enrol_again(books: Device, calls: Calls, known: Agreement, token: str, held: Held) -> None:
    """Use a new token of somebody who takes part already: the device gets another credential, and keeps its books and terms."""
    credentials, given = books.credentials(known.collection), Invitation.read(token).secret_hash
    used = credentials.read().token
    if given == used:
        return
    try:
        enrol(
            books,
            calls,
            known.server,
            token,
            held,
            cap=known.cap,
            excluded=known.excluded,
            volunteer=known.volunteer,
        )
    except ServerError as error:
        # Books of earlier versions do not say which token they were made with: it was this one.
        if used is not None or error.status != USED:
            raise
        credentials.keep_token(given)


def _enrolled(
    books: Device,
    calls: Calls,
    server: str,
    token: str | None,
    held: Held,
    terms: Cap | None,
    excluded: tuple[int, ...],
    volunteer: bool,
    yes: bool,
) -> Agreement:
    assert token is not None

    def agree(offer: Offer, cap: Cap) -> bool:
        say(*_offer_in_words(offer, cap, excluded, volunteer), err=True)
        return yes or _agrees("Take part?")

    agreement = enrol(
        books, calls, server, token, held, cap=terms, excluded=excluded, volunteer=volunteer, agree=agree
    )
    say(
        f"You take part now. Your books are in {books.path}: keep that file, nobody can make it again.",
        err=True,
    )
    return agreement


def _offer_in_words(offer: Offer, cap: Cap, excluded: tuple[int, ...], volunteer: bool) -> list[str]:
    lines = [
        "A collection asks you to take part. Its purpose, in its own words:",
        *quoted(offer.purpose),
        f"You will spend at most ε = {cap.epsilon:g}{f' and δ = {cap.delta:g}' if cap.delta else ''} in it, "
        + (
            "for life."
            if cap.renewal_days is None
            else f"anew every {cap.renewal_days} days: budgets add up, a year may cost up to "
            f"ε = {rounded_up(cap.epsilon * (1 + 365 // cap.renewal_days), 6)}."
        ),
    ]
    if excluded:
        lines.append(f"No answer may depend on attribute {', '.join(map(str, excluded))}.")
    if offer.private_links:
        lines.append(
            f"It asks whom of its {f'{offer.people} ' if offer.people else ''}people you are linked to, too, each link randomized: you answer that if you give --links. Of two people who are "
            "linked one answers for it, by numbers that the collector gives out: if it lies about them, both do, and the link costs what both of you "
            "spend on it, at most both your caps together."
        )
    if volunteer:
        lines.append("You give your row AS IT IS, without any noise: no ε describes that.")
    return lines


def _agreed(inquiry: Inquiry, agreement: Agreement, yes: bool) -> bool:
    say(*_in_words(inquiry, agreement), err=True)
    return yes or _agrees("Answer it?")


def _in_words(inquiry: Inquiry, agreement: Agreement) -> list[str]:
    """What is asked, why, and what it costs."""
    question, exact, left = inquiry.question, inquiry.exact, inquiry.left
    until = datetime.fromtimestamp(question.expires, UTC).strftime("%Y-%m-%d %H:%M")
    lines = [
        f"Round {question.round} asks for {what_is_asked(question.plan)}, by {question.plan.mechanism}, until {until} UTC.",
        "Its purpose, in the collection's own words:",
        *quoted(question.purpose),
    ]
    if inquiry.kept:
        lines.append("You have answered it before: the same answer is sent again, and costs nothing.")
        return lines
    sort = "exact" if question.plan.build().finite else "bounded"
    lines.append(
        f"It costs ε = {inquiry.claim.epsilon:g} ({sort}: {rounded_up(exact.epsilon, 9)})"
        f"{f' and δ = {exact.delta:g}' if exact.delta else ''}. Your cap of {agreement.cap.epsilon:g} leaves {left.epsilon:.6g} "
        f"before, {max(0.0, left.epsilon - inquiry.claim.epsilon):.6g} after."
    )
    if inquiry.link_at_most is not None:
        lines.append(
            f"A link costs that if the collector tells everybody the same numbers of people: then one of its two ends answers. If it lies about them, "
            f"both may, and a link costs at most ε = {inquiry.link_at_most.epsilon:g} where the other end is asked the same."
        )
    return lines


def what_is_asked(plan: Plan) -> str:
    """What of a person a plan asks for, in words.

    >>> what_is_asked(Plan(mechanism="krr", epsilon=1.0, classes=3))
    'which of 3 labels you have, randomized'
    """
    mechanism = plan.build()
    if plan.of == "norm":
        return "the length of your row, randomized"
    if plan.of == "class":
        return f"which of {plan.classes} classes a public model gives to your row, randomized"
    if plan.subject == "label":
        return f"which of {plan.classes} labels you have, randomized"
    if plan.subject == "level":
        return f"which of {plan.levels} privacy levels you chose, randomized"
    if plan.subject == "links":
        return f"whom you are linked to, among {plan.dims} users, each link randomized"
    if isinstance(mechanism, FeatureMechanism):
        return f"{mechanism.sampled} of the {mechanism.dimensions} values of your row, randomized"
    return f"your row of {mechanism.row_length} values, randomized"


def _row_given(
    books: Device, calls: Calls, agreement: Agreement, held: Held, volunteer: bool, yes: bool
) -> bool:
    """Give the raw row, where the owner said so at enrolment and says so now."""
    if not volunteer:
        return False
    if not agreement.volunteer:
        raise InputError(
            "you did not volunteer your row when you enrolled, and terms hold for good: leave out --volunteer"
        )
    say("Your row is about to leave this machine as it is, without any noise.", err=True)
    if not (yes or _agrees("Give it?")):
        return False
    give_row(books, calls, agreement.collection, held)
    return True


def _tell(books: Device, agreement: Agreement, seen: list[Visited], given: bool, as_json: bool) -> None:
    """Say what came of the visit. Books that are in doubt do not know what is left: nothing is, until the owner says."""
    doubt = books.doubt(agreement.collection)
    spending = next(each for each in books.spendings() if each.agreement.collection == agreement.collection)
    left = spending.left if doubt is None else Claim(0.0, 0.0)
    if as_json:
        told: dict[str, Any] = {
            "collection": agreement.collection,
            "questions": [_as_dict(each) for each in seen],
            "row_given": given,
            "refused": None if doubt is None else doubt.reason,
            "left": {"epsilon": left.epsilon, "delta": left.delta},
            "lifetime": {"epsilon": spending.lifetime.epsilon, "delta": spending.lifetime.delta},
        }
        say(json.dumps(told))
        return
    if not seen:
        say("Nothing is asked of you now.")
    for each in seen:
        say(_outcome(each))
    if given:
        say("Your row was given.")
    if doubt is not None:
        if not any(each.refusal is not None and each.refusal.reason == doubt.reason for each in seen):
            say(f"Refused ({doubt.reason}): {doubt}.")
        say(f"Spent in this collection: at least ε = {rounded_up(spending.lifetime.epsilon, 9)}.")
        return
    in_all = sum(each.lifetime.epsilon for each in books.spendings())
    say(
        f"Spent in this collection: ε = {rounded_up(spending.lifetime.epsilon, 9)}; left of the cap: {left.epsilon:.6g}; "
        f"spent by this device in all: {rounded_up(in_all, 9)}."
    )


def _as_dict(each: Visited) -> dict[str, Any]:
    return {
        "round": None if each.inquiry is None else each.inquiry.question.round,
        "epsilon": None if each.inquiry is None else each.inquiry.claim.epsilon,
        "delivered": each.delivered,
        "status": each.status,
        "refused": None if each.refusal is None else each.refusal.reason,
    }


def _outcome(each: Visited) -> str:
    if each.refusal is not None:
        return f"Refused ({each.refusal.reason}): {each.refusal}."
    assert each.inquiry is not None
    name = f"Round {each.inquiry.question.round}"
    if each.status is None:
        return f"{name}: not answered."
    if each.delivered:
        return f"{name}: answered, and kept by the collector."
    return f"{name}: the collector does not take the answer ({each.said}); it is kept here, and costs nothing more."


def _agrees(question: str) -> bool:
    return confirmed(question, "nothing was sent: give --yes to agree to everything")
