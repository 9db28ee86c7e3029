"""graphveil data: which graphs there are, what they hold, and how to get them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from graphveil.cli.console import print_result, say, show_facts
from graphveil.cli.options import AsJson
from graphveil.experiments.table import Table
from graphveil.graphs.catalogue import Listing, catalogue, describe
from graphveil.graphs.store import get

data_app = typer.Typer(help="Graphs: which there are, what they hold, and how to get them.")


@data_app.callback(invoke_without_command=True)
def _root(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        say(*context.get_help().splitlines())


@data_app.command("list")
def list_graphs(as_json: AsJson = False) -> None:
    """List all graphs that graphveil knows, and those in your data folder.

    Example: graphveil data list
    """
    listings = catalogue()
    rows = [
        (
            listing.name,
            *map(_number, (listing.users, listing.edges, listing.features, listing.classes)),
            _range(listing),
            _where(listing),
        )
        for listing in listings
    ]
    head = ("name", "users", "edges", "features", "classes", "range", "where")
    graphs = [asdict(listing) for listing in listings]
    print_result({"graphs": graphs}, as_json, Table.of(head, rows, text=("range", "where")))


@data_app.command("info")
def show_info(
    name: Annotated[
        str,
        typer.Argument(
            help="A name from `graphveil data list`, the path of an .npz file, or a function as FILE.py:NAME."
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Say what a graph holds, what is public of it, and where it is.

    Example: graphveil data info cora
    """
    listing = describe(name)
    if as_json:
        print_result(asdict(listing), as_json)
        return
    facts: dict[str, Any] = {**asdict(listing), "labels": ", ".join(listing.labels)}
    facts |= {key: _number(facts[key]) for key in ("users", "edges", "features", "classes")}
    facts["range"] = _range(listing)
    gave = f"{listing.volunteers:,} users, whose raw features the server may know"
    facts["volunteers"] = gave if listing.volunteers else ""
    facts["several_labels"] = "any number of labels a user" if listing.several_labels else ""
    show_facts({key: str(value) for key, value in facts.items() if value})


@data_app.command("get")
def get_graph(
    name: Annotated[str, typer.Argument(help="A name from `graphveil data list`.")],
    again: Annotated[bool, typer.Option("--again", help="Download even if it is here already.")] = False,
) -> None:
    """Download a graph into your cache, once, and print where it is.

    Example: graphveil data get cora
    """
    say(str(get(name, again=again)))


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _where(listing: Listing) -> str:
    """Where a graph is, and who of its users volunteered."""
    return f"{listing.where}, {listing.volunteers:,} volunteers" if listing.volunteers else listing.where


def _range(listing: Listing) -> str:
    """The public range, or what to do without one."""
    if listing.range is not None:
        return f"{listing.range[0]:g}..{listing.range[1]:g}"
    return "give one" if listing.features else "-"
