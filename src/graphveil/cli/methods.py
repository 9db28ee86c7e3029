"""graphveil methods: what can be run."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from graphveil.cli.warn import warn
from graphveil.methods import all_method_names, load_method


def methods(
    name: Annotated[
        str | None, typer.Argument(help="One method, by its name or as FILE.py:NAME; without it, all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    settings: Annotated[bool, typer.Option("--settings", help="Also list what each can be set to.")] = False,
) -> None:
    """List the methods, and with --settings what each can be set to.

    Example: graphveil methods --settings

    Example: graphveil methods mine.py:Mine --settings
    """
    chosen = all_method_names(warn) if name is None else [name]
    loaded = {each: load_method(each) for each in chosen}
    if as_json:
        fields = [
            {
                "name": each,
                "summary": method.summary,
                "needs_epsilon": method.reports_features,
                "settings": {
                    key: {"default": info.default, "meaning": info.description}
                    for key, info in method.settings.model_fields.items()
                },
                "tuned": method.tuned,
            }
            for each, method in loaded.items()
        ]
        typer.echo(json.dumps({"methods": fields}))
        return
    console = Console()
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for heading in ("method", "needs --epsilon", "what it is"):
        table.add_column(heading)
    for each, method in loaded.items():
        table.add_row(each, "yes" if method.reports_features else "no", method.summary)
    console.print(table)
    for each, method in loaded.items() if settings else ():
        table = Table(title=f"--set for {each}", title_justify="left", box=None, padding=(0, 2))
        for heading in ("key", "default", "meaning"):
            table.add_column(heading)
        for key, info in method.settings.model_fields.items():
            table.add_row(key, str(info.default), info.description or "")
        console.print(table)
        for task, known in method.tuned.items():
            for data, values in known.items():
                words = ", ".join(f"{key}={value}" for key, value in values.items())
                console.print(f"defaults on {data}, task {task}: {words}")
