"""graphveil collect export: what was collected, as tables or as a sharded graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphveil.cli.console import say
from graphveil.cli.interrupts import saying

if TYPE_CHECKING:
    from graphveil.collect.storage import Collection


def collect_export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The collection's folder.")],
    out: Annotated[Path, typer.Option(help="The folder for the tables.")],
    shards: Annotated[
        int | None,
        typer.Option(help="Write a sharded graph of so many partitions instead, with the reports beside it."),
    ] = None,
) -> None:
    """Write reports of closed rounds, the graph and the roster (by pseudonyms) as Parquet files.

    Example: graphveil collect export survey --out tables

    With --shards: graphveil collect export survey --out shards --shards 4
    """
    from graphveil.collect.storage import open_collection

    collection = open_collection(folder)
    if shards is not None:
        _export_shards(collection, out, shards)
        return
    from graphveil.collect.export import export

    for name, count in export(collection, out).items():
        say(f"{out / name}: {count}")


def _export_shards(collection: Collection, out: Path, partitions: int) -> None:
    from graphveil.collect.export_shards import export_shards

    with saying():
        made = export_shards(collection, out, partitions)
    manifest = made.shards.manifest
    say(
        f"{out}: {manifest.users} people in {partitions} partitions by {manifest.partitioner}, {manifest.cut:.1%} of the links are cut"
    )
    say(f"Rounds with reports: {', '.join(map(str, made.rounds)) or 'none'}")
    for number, reason in made.left_out.items():
        say(f"Round {number} is left out: {reason}.")
