"""graphveil methods: what can be run, and what each method asks for and can be set to."""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from rich.markup import escape

from graphveil.cli.console import Console, print_result, say, show_table, warn
from graphveil.cli.options import AsJson
from graphveil.experiments.table import Table
from graphveil.methods import METHODS, Method
from graphveil.methods.tasks import TASKS
from graphveil.number_format import exact_text


def methods(
    name: Annotated[
        str | None, typer.Argument(help="One method, by its name or as FILE.py:NAME; without it, all.")
    ] = None,
    as_json: AsJson = False,
    settings: Annotated[
        bool, typer.Option("--settings", help="List what each can be set to; of one method, that alone.")
    ] = False,
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
    """All about one method, or its settings alone."""
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
    """What a method asks users for, what it predicts, and with which options, in sentences."""
    said = ["It asks nobody about features."]
    if method.can.features == "raw":
        said = ["It reads raw features, and claims no privacy for them."]
    elif method.can.asks:
        by = f"{method.mechanism} unless --mechanism names another one"
        said = [f"It asks users about their features at --epsilon, by {by}."]
    if method.can.levels:
        said.append(f"Users may choose one of {method.can.levels} privacy levels each (--levels, --budgets).")
    if method.can.panel:
        said.append("It learns from the raw rows of volunteers too, where there are some (--panel).")
    said.append(
        f"Labels are asked for with --label-epsilon, links with --link-epsilon (by {method.links.mechanism}); without, both are public."
    )
    if method.can.norms:
        said.append("It can learn norms of features besides (--norm-epsilon).")
    predicted = " or ".join(f"{TASKS.find(name).summary} (--task {name})" for name in method.can.tasks)
    return [
        *said,
        f"It predicts {predicted}; the network inside is {method.backbone} unless --backbone says otherwise.",
    ]


def show_settings(name: str, method: Method, console: Console) -> None:
    """What a method can be set to, and where its defaults are others."""
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
