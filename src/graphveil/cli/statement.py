"""graphveil statement: one page for those who must sign off a collection."""

from __future__ import annotations

from pathlib import Path

import typer

from graphveil.audit import audit as audit_mechanism
from graphveil.audit.candidate import read_plan
from graphveil.audit.examine import Audit
from graphveil.audit.statement import CollectionFacts, PrivacyStatement, StatedPlan
from graphveil.channels.sampling import SeededBits
from graphveil.cli.audit import progress
from graphveil.cli.console import FAILED, print_result
from graphveil.cli.options import AsJson, Page
from graphveil.errors import InputError
from graphveil.experiments.statement import statement_page
from graphveil.files import write_whole
from graphveil.methods.terms import option
from graphveil.privacy import Plan


def statement(
    *,
    plans: list[Path] | None = option(
        None, "Plans as JSON files, as devices get them.", positional=True, metavar="PLAN.json…"
    ),
    html: Page = option(None, "The page to write, .html.", "--html"),
    collection: Path | None = option(None, "The folder of a collection: state what its rounds have asked."),
    quick: bool = option(True, "Audit with 2·10^5 draws, or with 10^7.", "--quick/--full"),
    seed: int | None = option(None, "Repeat the same draws of the audit; without it, as a client draws."),
    as_json: AsJson = False,
) -> None:
    """Say on one page who gets what, raw or reported, at which exact ε, in how many rounds; what is proved about it, and what is not.

    Give the plans of a collection that is to be, or --collection for one that there is. Exit status 1 where a claim does not hold.

    Example: graphveil statement plan.json --html statement.html

    Example: graphveil statement --collection survey --html statement.html
    """
    if bool(plans) == (collection is not None):
        raise InputError("give plans, or a collection by --collection DIR: one of the two")
    if html is None and not as_json:
        raise InputError("name the page to write with --html FILE.html, or print it with --json")
    if collection is None:
        asked, facts = tuple(StatedPlan(path.name, read_plan(path)) for path in plans or []), None
    else:
        asked, facts = _stated(collection)
    with progress() as tell:

        def audited(plan: Plan) -> Audit:
            tell(f"auditing {plan.mechanism}")
            return audit_mechanism(plan, quick=quick, random_bits=None if seed is None else SeededBits(seed))

        stated = PrivacyStatement.of(asked, audited, facts)
    if html is not None:
        write_whole(html, statement_page(stated))
    print_result(stated.to_dict(), as_json, f"The statement is in {html}. {stated.headline}")
    if not stated.holds:
        raise typer.Exit(FAILED)


def _stated(folder: Path) -> tuple[tuple[StatedPlan, ...], CollectionFacts]:
    """Return what a collection has asked, and what it holds."""
    from graphveil.collect.storage import open_collection

    collection = open_collection(folder)
    plans = tuple(
        StatedPlan(f"round {each.number}", each.plan, each.asked, each.answered)
        for each in collection.rounds()
    )
    settings, counts, public = collection.settings, collection.counts(), collection.public_graph()
    facts = CollectionFacts(
        id=settings.id,
        purpose=settings.purpose,
        epsilon=settings.epsilon,
        delta=settings.delta,
        users=public.users,
        links=len(public.edges),
        labels=int((public.labels >= 0).sum()),
        enrolled=counts["enrolled"],
        volunteers=counts["rows"],
        forgotten=counts["forgotten"],
        retention=settings.retention,
        renewing=int((collection.roster().renewal > 0).sum()),
    )
    return plans, facts
