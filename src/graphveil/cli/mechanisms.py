"""graphveil mechanisms: what a report can be made with."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from graphveil.cli.warn import warn
from graphveil.mechanisms.registry import all_names, load_entry


def mechanisms(
    name: Annotated[
        str | None, typer.Argument(help="One mechanism, by its name or as FILE.py:NAME; without it, all.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")] = False,
) -> None:
    """List the mechanisms: their names, what they report, whom one has to trust, and how.

    Trust is local where users add the noise themselves; a curator sees everything in the clear and adds it for them.

    Example: graphveil mechanisms
    """
    entries = [load_entry(each) for each in (all_names(warn) if name is None else [name])]
    if as_json:
        fields = [
            {"name": entry.name, "subject": entry.subject, "trust": entry.trust, "summary": entry.summary}
            for entry in entries
        ]
        typer.echo(json.dumps({"mechanisms": fields}, ensure_ascii=False))
        return
    table = Table(box=None, padding=(0, 2), header_style="bold")
    table.add_column("mechanism", no_wrap=True)
    table.add_column("reports", no_wrap=True)
    table.add_column("trust", no_wrap=True)
    table.add_column("how")
    for entry in entries:
        table.add_row(entry.name, entry.subject, entry.trust, entry.summary)
    Console().print(table)
