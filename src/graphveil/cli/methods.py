"""graphveil methods: what can be run."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from graphveil.methods import find_method, method_names


def methods(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
    settings: Annotated[bool, typer.Option("--settings", help="Also list what each can be set to.")] = False,
) -> None:
    """List the methods, and with --settings what each can be set to.

    Example: graphveil methods --settings
    """
    found = [find_method(name) for name in method_names()]
    if as_json:
        fields = [
            {
                "name": method.name,
                "summary": method.summary,
                "needs_epsilon": method.reports_features,
                "settings": {
                    key: {"default": info.default, "meaning": info.description}
                    for key, info in method.settings.model_fields.items()
                },
                "tuned": method.tuned,
            }
            for method in found
        ]
        typer.echo(json.dumps({"methods": fields}))
        return
    console = Console()
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for heading in ("method", "needs --epsilon", "what it is"):
        table.add_column(heading)
    for method in found:
        table.add_row(method.name, "yes" if method.reports_features else "no", method.summary)
    console.print(table)
    for method in found if settings else []:
        table = Table(title=f"--set for {method.name}", title_justify="left", box=None, padding=(0, 2))
        for heading in ("key", "default", "meaning"):
            table.add_column(heading)
        for key, info in method.settings.model_fields.items():
            table.add_row(key, str(info.default), info.description or "")
        console.print(table)
        for task, known in method.tuned.items():
            for data, chosen in known.items():
                words = ", ".join(f"{key}={value}" for key, value in chosen.items())
                console.print(f"defaults on {data}, task {task}: {words}")
