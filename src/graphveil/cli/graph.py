"""graphveil graph: sharded graphs, in which nobody has to hold the whole."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil import scale
from graphveil.cli.console import on_interrupt, one_bar, print_result, show_facts, show_table
from graphveil.cli.options import AsJson, CommandGroup, Pairs, RangePair
from graphveil.errors import InputError
from graphveil.experiments.table import Table
from graphveil.graphs.load import load
from graphveil.graphs.town import Town
from graphveil.methods.terms import option
from graphveil.scale.partitioners import PARTITIONERS, check_partitions

graph_app = CommandGroup(help="Graphs too large for one machine: shards of a graph, and towns of any size.")

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a sharded graph.")]


@dataclass(frozen=True)
class ShardOptions:
    """Options of commands that write shards."""

    out: Path = option(..., "A new folder for the shards.")
    partitions: int = option(..., "Into how many partitions users are divided.")
    seed: int = option(0, "Draws the split, and partitions where chance plays a part.")
    public: bool = option(False, "Leave out what users hold: nobody can be simulated then.", "--public")
    as_json: AsJson = False

    def show(self, shards: scale.Shards) -> None:
        """Print what was written."""
        facts = scale.facts(shards)
        print_result(
            facts,
            self.as_json,
            f"{shards.path}: {facts['users']:,} users and {facts['links']:,} links in {shards.partition_count} partitions by "
            f"{facts['partitioner']}; {facts['cut']:.1%} of the links are cut, the largest partition has {facts['balance']:.3f} times the mean",
        )


@graph_app.command("shard")
def shard(
    *,
    source: str = option(
        ...,
        "An .npz file, a table of links (.csv, .parquet), a name from `graphveil data list`, or FILE.py:NAME.",
        positional=True,
    ),
    sharding: ShardOptions,
    partition: str = option(
        "auto", f"How users are divided: {', '.join(PARTITIONERS)}; auto is METIS where it fits."
    ),
    public_range: RangePair,
    labels: Path | None = option(None, "Beside a table of links, one of users and labels."),
    users: int | None = option(None, "How many users there are, where a table of links does not say."),
    ids: bool = option(False, "Integers in a table are ids of users, and not their numbers.", "--ids"),
    max_memory: float | None = option(
        None, "Gigabytes that links and rows of a file may take at a time; 1 by default."
    ),
    settings: Pairs = option(None, "KEY=VALUE, an option of the loader, like split=few.", "--set"),
) -> None:
    """Divide a graph into shards. Files are sorted on disk and never held as a whole; other graphs are loaded first.

    Example: graphveil graph shard links.parquet --out shards --partitions 16
    """
    check_partitions(sharding.partitions, partition)
    options = {**settings, **public_range}
    out, public = sharding.out, sharding.public
    common: dict[str, Any] = {
        "partitions": sharding.partitions,
        "partitioner": partition,
        "seed": sharding.seed,
    }
    with on_interrupt():
        if _is_file(source) and set(options) <= {"split", "range"}:
            shards = scale.shard_files(
                source,
                out,
                labels=labels,
                users=users,
                ids=ids,
                max_memory=max_memory,
                simulated=not public,
                **common,
                **options,
            )
        else:
            if labels is not None or users is not None or ids or max_memory is not None:
                raise InputError(
                    "--labels, --users, --ids and --max-memory are for files that are sharded as they are: name one, without --set"
                )
            graph, held = load(source, sharding.seed, **options)
            source_facts = {"name": source, "options": _plain(options), "split_seed": sharding.seed}
            shards = scale.write_shards(
                graph, out, users=None if public else held, source=source_facts, **common
            )
    sharding.show(shards)


@graph_app.command("town")
def town(
    *,
    users: int = option(..., "How many users live in it."),
    sharding: ShardOptions,
    settings: Pairs = option(
        None, "KEY=VALUE, an option of the town: degree, nearby, features, town_seed, …", "--set"
    ),
) -> None:
    """Generate a town of any size, shard by shard: all of its links are never in memory.

    Example: graphveil graph town --out town --users 1000000 --partitions 4
    """
    accepted = {"town_seed" if each.name == "seed" else each.name: each.name for each in fields(Town)}
    for key in settings:
        if key not in accepted or key == "users":
            known = ", ".join(name for name in accepted if name != "users")
            raise InputError(f"town has no option {key!r}: it takes {known}, and --users")
    plan = Town(**{"users": users, **{accepted[key]: value for key, value in settings.items()}})
    with one_bar() as tell:
        shards = scale.write_town(
            plan,
            sharding.out,
            partitions=sharding.partitions,
            seed=sharding.seed,
            simulated=not sharding.public,
            progress=lambda done, all: tell(f"{done} of {all} partitions", done / all),
        )
    sharding.show(shards)


@graph_app.command("info")
def info(folder: Folder, as_json: AsJson = False) -> None:
    """Say what a sharded graph holds: users, links, partitions, what is cut between them, and whose answers are kept.

    Example: graphveil graph info shards
    """
    shards = scale.open_shards(folder)
    facts = scale.facts(shards)
    if as_json:
        print_result(facts, as_json)
        return
    lines = {
        "name": facts["name"],
        "users": f"{facts['users']:,}",
        "links": f"{facts['links']:,}",
        "features": f"{facts['features']:,}",
        "range": "-" if facts["range"] is None else f"{facts['range'][0]:g}..{facts['range'][1]:g}",
        "classes": f"{facts['classes']:,}",
        "split": "{train:,} train, {validation:,} validate, {test:,} test".format(**facts["split"]),
        "simulated": "has what users hold, for simulations" if facts["simulated"] else "public alone",
        "partitions": f"{len(facts['partitions'])}, by {facts['partitioner']}",
        "cut": f"{facts['cut']:.1%} of all links lead to another partition",
        "balance": f"the largest partition has {facts['balance']:.3f} times the mean",
        "reports": ", ".join(
            f"{each['plan']} ({each['answered']:,} of {each['asked']:,})" for each in facts["reports"]
        ),
        "size": f"{facts['bytes'] / 1e9:.3g} GB",
    }
    show_facts(lines)
    rows = []
    for place, part in enumerate(facts["partitions"]):
        numbers = (part["first"], part["users"], part["entries"])
        share = f"{part['cut'] / part['entries']:.1%}" if part["entries"] else "-"
        rows.append((str(place), *(f"{number:,}" for number in numbers), share))
    head = ("partition", "first", "users", "links' ends", "cut")
    show_table(Table(head, tuple(rows), frozenset(head)))


def _is_file(source: str) -> bool:
    """Return whether links are read from this file as they are; registered graphs follow their own rules."""
    return Path(source).suffix.lower() in (".npz", ".csv", ".parquet")


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in options.items()}
