"""graphveil methods, mechanisms and data: what there is to run, to report with, and to run on."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any

from rich.markup import escape

from graphveil.checks import check_number
from graphveil.cli.console import Console, print_result, say, show_facts, show_table, warn
from graphveil.cli.options import AsJson, CommandGroup, Figure
from graphveil.errors import InputError
from graphveil.experiments.drawings import EPSILON, mechanism_drawing
from graphveil.experiments.table import Table
from graphveil.graphs.catalogue import Listing, catalogue, describe
from graphveil.graphs.store import get
from graphveil.mechanisms.registry import all_names, load_entry
from graphveil.methods import METHODS, Method
from graphveil.methods.tasks import TASKS
from graphveil.methods.terms import option
from graphveil.number_format import exact_text


def methods(
    *,
    name: str | None = option(
        None, "One method, by its name or as FILE.py:NAME; without it, all.", positional=True
    ),
    as_json: AsJson = False,
    settings: bool = option(False, "List what each can be set to; of one method, that alone.", "--settings"),
) -> None:
    """List the methods, or show one: what it does, what it asks users for, and what it can be set to.

    Example: graphveil methods

    Example: graphveil methods lpgnn

    Example: graphveil methods mine.py:Mine --settings
    """
    chosen = METHODS.load_all(warn) if name is None else [name]
    loaded = {each: METHODS.load(each) for each in chosen}
    if as_json:
        print_result({"methods": [about(each, method) for each, method in loaded.items()]}, as_json)
        return
    console = Console(highlight=False)
    if name is not None:
        show_page(name, loaded[name], console, settings_alone=settings)
        return
    rows = [(each, "yes" if method.can.asks else "no", method.summary) for each, method in loaded.items()]
    show_table(Table(("method", "needs --epsilon", "what it is"), tuple(rows)), wrapped=True)
    for each, method in loaded.items() if settings else ():
        show_settings(each, method, console)


def about(name: str, method: Method) -> dict[str, Any]:
    """Return what `--json` says of a method."""
    return {
        "name": name,
        "summary": method.summary,
        "needs_epsilon": method.can.asks,
        "asks": asks(method),
        "settings": {
            key: {"default": info.default, "meaning": info.description}
            for key, info in method.settings.model_fields.items()
        },
        "tuned": method.tuned,
    }


def show_page(name: str, method: Method, console: Console, *, settings_alone: bool = False) -> None:
    """Print the description of a method, or only its settings.

    Parameters
    ----------
    name
        Its name.
    method
        The method.
    console
        Where to print.
    settings_alone
        Whether to print only its settings.
    """
    console.print(f"[bold]{escape(name)}[/]: {escape(method.summary)}")
    console.print()
    if not settings_alone:
        # Lines of a paragraph are broken anew, as wide as the screen is.
        for paragraph in filter(None, inspect.cleandoc(type(method).__doc__ or "").split("\n\n")):
            console.print(escape(" ".join(paragraph.split())))
            console.print()
        for sentence in asks(method):
            console.print(escape(sentence))
        console.print()
    show_settings(name, method, console)
    if not settings_alone:
        budget = " --epsilon 2" if method.can.asks else ""
        first = next(iter(method.settings.model_fields.items()), None)
        setting = "" if first is None else f" --set {first[0]}={exact_text(first[1].default)}"
        console.print()
        console.print(f"Example: graphveil run {escape(name)} --data town{budget}{setting}", soft_wrap=True)


def asks(method: Method) -> list[str]:
    """Return sentences about what a method asks users for, what it predicts, and with which options."""
    sentences = ["It asks nobody about features."]
    if method.can.features == "raw":
        sentences = ["It reads raw features, and claims no privacy for them."]
    elif method.can.asks:
        by = f"{method.mechanism} unless --mechanism names another one"
        sentences = [f"It asks users about their features at --epsilon, by {by}."]
    if method.can.levels:
        sentences.append(
            f"Users may choose one of {method.can.levels} privacy levels each (--levels, --budgets)."
        )
    if method.can.panel:
        sentences.append("It learns from the raw rows of volunteers too, where there are some (--panel).")
    sentences.append(
        f"Labels are asked for with --label-epsilon, links with --link-epsilon (by {method.links.mechanism}); without, both are public."
    )
    if method.can.norms:
        sentences.append("It can learn norms of features besides (--norm-epsilon).")
    predicted = " or ".join(f"{TASKS.find(name).summary} (--task {name})" for name in method.can.tasks)
    return [
        *sentences,
        f"It predicts {predicted}; the network inside is {method.backbone} unless --backbone says otherwise.",
    ]


def show_settings(name: str, method: Method, console: Console) -> None:
    """Print the settings of a method, and the graphs on which its defaults differ.

    Parameters
    ----------
    name
        The name of the method.
    method
        The method.
    console
        Where to print.
    """
    say(f"--set for {name}")
    rows = [
        (key, exact_text(info.default), info.description or "")
        for key, info in method.settings.model_fields.items()
    ]
    show_table(Table(("key", "default", "meaning"), tuple(rows)), wrapped=True)
    for task, known in method.tuned.items():
        for data, values in known.items():
            words = ", ".join(f"{key}={exact_text(value)}" for key, value in values.items())
            console.print(f"defaults on {data}, task {task}: {escape(words)}")


def mechanisms(
    *,
    name: str | None = option(
        None, "One mechanism, by its name or as FILE.py:NAME; without it, all.", positional=True
    ),
    plot: Figure = option(
        None, "Draw what one answer can be, for a few inputs: a file that ends in .svg or .png."
    ),
    epsilon: float | None = option(None, "The budget to draw it at, 1 if none is given."),
    as_json: AsJson = False,
) -> None:
    """List the mechanisms: their names, what they report, whom one has to trust, and how.

    Trust is local where users add the noise themselves; a curator sees everything in the clear and adds it for them.

    Example: graphveil mechanisms

    Example: graphveil mechanisms piecewise --plot piecewise.svg --epsilon 2
    """
    if plot is not None:
        if name is None:
            raise InputError("--plot draws one mechanism: name it, as in `mechanisms krr --plot krr.svg`")
        budget = EPSILON if epsilon is None else epsilon
        mechanism_drawing(name, check_number(budget, "--epsilon", above=0)).write(plot)
        say(f"The figure is in {plot}.")
        return
    if epsilon is not None:
        raise InputError("--epsilon is the budget to draw a mechanism at: give --plot FILE.svg too")
    entries = [load_entry(each) for each in (all_names(warn) if name is None else [name])]
    names = ("name", "subject", "trust", "summary")
    listed = [{name: getattr(entry, name) for name in names} for entry in entries]
    table = Table(("mechanism", "reports", "trust", "how"), (tuple(each.values()) for each in listed))
    print_result({"mechanisms": listed}, as_json, table, wrapped=True)


data_app = CommandGroup(help="Graphs: which there are, what they hold, and how to get them.")


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
    *,
    name: str = option(
        ...,
        "A name from `graphveil data list`, the path of an .npz file, or a function as FILE.py:NAME.",
        positional=True,
    ),
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
    *,
    name: str = option(..., "A name from `graphveil data list`.", positional=True),
    again: bool = option(False, "Download even if it is here already.", "--again"),
) -> None:
    """Download a graph into your cache, once, and print where it is.

    Example: graphveil data get cora
    """
    say(str(get(name, again=again)))


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _where(listing: Listing) -> str:
    """Return the location of a graph, and the number of its volunteers."""
    return f"{listing.where}, {listing.volunteers:,} volunteers" if listing.volunteers else listing.where


def _range(listing: Listing) -> str:
    """Return the public range, or what to do without one."""
    if listing.range is not None:
        return f"{listing.range[0]:g}..{listing.range[1]:g}"
    return "give one" if listing.features else "-"
