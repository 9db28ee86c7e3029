"""graphveil answer: take part in a collection from a terminal."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import typer

from graphveil.cli.console import FAILED, MISTAKEN, confirm, print_result, quote, say
from graphveil.cli.options import NUMBERS, AsJson
from graphveil.client import Agreement, Calls, Cap, Device, Http, Inquiry, Offer, enrol, give_row, visit
from graphveil.client.agreement import cost_text, question_text, terms_text
from graphveil.client.held import read_held, read_links
from graphveil.client.visit import (
    VisitSummary,
    check_links,
    enrol_again,
    known_agreement,
    recover_books,
)
from graphveil.errors import InputError
from graphveil.methods.terms import option
from graphveil.number_format import exact_text
from graphveil.settings import device_file


def answer(
    *,
    server: str = option(..., "The collector's address, as in https://collect.example.org."),
    row: Path = option(
        ..., "Your own row: a line of numbers (.csv), a list or an object (.json), an array (.npy)."
    ),
    token: str | None = option(
        None, "The invitation that you were given; needed the first time, and after a new one."
    ),
    device: Path | None = option(
        None,
        "The file of your books; unless given, in $GRAPHVEIL_STATE or your own data folder. A second record that notices restored "
        "backups is kept elsewhere: in $GRAPHVEIL_WITNESS or another folder of yours.",
    ),
    cap: float | None = option(
        None, "The most that you spend in this collection, as ε, for life; what it offers unless given."
    ),
    cap_delta: float = option(0.0, "The same for δ; used with --cap."),
    renew_days: int | None = option(
        None, "Grant the cap anew after so many days. Budgets add up: n periods cost n caps."
    ),
    exclude: NUMBERS = option(
        None, "Attributes that no answer may depend on, by their numbers from 0: 3,17."
    ),
    links: Path | None = option(
        None,
        "Whom you are linked to, where the collection asks for links: a text file with an id a line, which stays here. Give it "
        "at enrolment, and an empty one if there is nobody: who answers tells then nothing.",
    ),
    level: int | None = option(
        None,
        "The privacy level that you choose where a question has levels, 1: the strictest, which is taken unless given. It stays "
        "here; the cap counts what the least strict one costs.",
        min=1,
    ),
    volunteer: bool = option(
        False, "Give the collection your row as it is, without any noise.", "--volunteer"
    ),
    spent: float | None = option(
        None,
        "After a backup was restored: the ε that you have spent in this collection. In others of this device all of it "
        "counts as spent.",
    ),
    yes: bool = option(False, "Agree to everything without being asked.", "--yes"),
    as_json: AsJson = False,
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
    terms = _cap(cap, cap_delta, renew_days)
    if not all(map(float.is_integer, exclude or ())):
        raise InputError(
            f"--exclude takes numbers of attributes, counted from 0, got {exact_text(exclude)!r}"
        )
    excluded = tuple(map(int, exclude or ()))
    calls = Calls(Http(server))
    books = Device(device_file() if device is None else device)
    agreement = known_agreement(books, calls, server, token)
    if agreement is None:
        assert token is not None
        agreement = enrol(
            books,
            calls,
            server,
            token,
            held,
            cap=terms,
            excluded=excluded,
            volunteer=volunteer,
            agree=lambda offer, cap: _takes_part(offer, cap, excluded, volunteer, yes),
        )
        say(
            f"You take part now. Your books are in {books.path}: keep that file, nobody can make it again.",
            err=True,
        )
    elif cap is not None or exclude is not None or renew_days is not None:
        raise InputError(
            "you take part in this collection already, and its terms hold for good: leave out --cap, --exclude and --renew-days"
        )
    elif token is not None:
        enrol_again(books, calls, agreement, token, held)
    check_links(agreement, held)
    if spent is not None:
        recover_books(books, calls, agreement, spent)
    seen = visit(books, calls, agreement.collection, held, lambda inquiry: _answers(inquiry, agreement, yes))
    row_given = volunteer and _gives_row(agreement, yes)
    if row_given:
        give_row(books, calls, agreement.collection, held)
    summary = VisitSummary.of(books, agreement.collection, seen, row_given)
    print_result(summary.to_dict(), as_json, *summary.sentences)
    if summary.failed:
        raise typer.Exit(FAILED if summary.claim_broken else MISTAKEN)


def _cap(cap: float | None, delta: float, renew_days: int | None) -> Cap | None:
    if cap is None:
        if renew_days is not None or delta:
            raise InputError("--cap-delta and --renew-days say more of a cap: give --cap too")
        return None
    return Cap(cap, delta, renewal_days=renew_days)


def _takes_part(offer: Offer, cap: Cap, excluded: tuple[int, ...], volunteer: bool, yes: bool) -> bool:
    say(
        "A collection asks you to take part. Its purpose, in its own words:",
        *quote(offer.purpose),
        *terms_text(offer, cap, excluded, volunteer),
        err=True,
    )
    return yes or _agrees("Take part?")


def _answers(inquiry: Inquiry, agreement: Agreement, yes: bool) -> bool:
    say(
        question_text(inquiry),
        "Its purpose, in the collection's own words:",
        *quote(inquiry.question.purpose),
        *cost_text(inquiry, agreement),
        err=True,
    )
    return yes or _agrees("Answer it?")


def _gives_row(agreement: Agreement, yes: bool) -> bool:
    """Return whether the owner gives the raw row, as agreed at enrolment and confirmed now."""
    if not agreement.volunteer:
        raise InputError("you did not volunteer your row when you enrolled: leave out --volunteer")
    say("Your row is about to leave this machine as it is, without any noise.", err=True)
    return yes or _agrees("Give it?")


def _agrees(question: str) -> bool:
    return confirm(question, "nothing was sent: give --yes to agree to everything")
