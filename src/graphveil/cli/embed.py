"""graphveil embed: a row of numbers for each user, written to a file with what it cost."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from graphveil.cli.options import (
    AsJson,
    BackboneName,
    DataName,
    Delta,
    Device,
    Epsilon,
    Gamma,
    LabelEpsilon,
    LevelBudgets,
    LevelCount,
    LevelDistribution,
    LinkEpsilon,
    LinkMechanismName,
    MaxMemory,
    MechanismName,
    MethodName,
    RangePair,
    SettingPairs,
    SettingsFile,
    TaskName,
)
from graphveil.cli.run import all_settings, parse_budgets, parse_range
from graphveil.experiments.spec import Spec

if TYPE_CHECKING:
    from graphveil.experiments.embedding import Embedding


def embed(
    method: MethodName,
    data: DataName,
    out: Annotated[Path, typer.Option(help="The file to write: .npz, or .parquet with pyarrow.")],
    epsilon: Epsilon = None,
    delta: Delta = None,
    mechanism: MechanismName = "",
    backbone: BackboneName = "",
    task: TaskName = "node",
    seed: Annotated[int, typer.Option(help="The seed of split, reports and model.")] = 0,
    setting: SettingPairs = None,
    settings_file: SettingsFile = None,
    label_epsilon: LabelEpsilon = None,
    link_epsilon: LinkEpsilon = None,
    link_mechanism: LinkMechanismName = "link-rr",
    levels: LevelCount = None,
    budgets: LevelBudgets = None,
    gamma: Gamma = None,
    level_distribution: LevelDistribution = "uniform",
    public_range: RangePair = None,
    max_memory: MaxMemory = None,
    device: Device = "auto",
    dims: Annotated[
        int | None, typer.Option(help="Reduce the columns to so many by a truncated SVD; it costs nothing.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write what a method learns of each user, a row of numbers each, to a file that says what it cost.

    The method runs as in the first run of `graphveil run`: with --task node it learns from the labels of that seed's split,
    with --task link from the training links alone. Reports are simulated from the seed.

    Example: graphveil embed lpgnn --data town --epsilon 4 --dims 8 --out town.npz
    """
    spec = Spec(
        method,
        data,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        backbone=backbone,
        task=task,
        seed=seed,
        settings=all_settings(method, settings_file, setting or []),
        data_options={} if public_range is None else {"range": parse_range(public_range)},
        label_epsilon=label_epsilon,
        link_epsilon=link_epsilon,
        link_mechanism=link_mechanism,
        levels=levels,
        budgets=parse_budgets(budgets),
        gamma=gamma,
        level_distribution=level_distribution,
        max_memory=max_memory,
        device=device,
    )
    from graphveil.experiments.embedding import check_embedding
    from graphveil.experiments.embedding_file import check_file
    from graphveil.experiments.unit import peak_megabytes

    check_file(out)
    check_embedding(spec, dims)
    start = time.perf_counter()
    embedding = watched(spec, dims)
    embedding.save(out)
    if as_json:
        took = {"seconds": time.perf_counter() - start, "peak_mb": peak_megabytes()}
        typer.echo(json.dumps({**told(embedding, out), **took}, ensure_ascii=False))
    else:
        rows, columns = embedding.shape
        typer.echo(f"{rows} x {columns} numbers are in {out} ({size(out.stat().st_size)}).")
        typer.echo(embedding.statement)


def watched(spec: Spec, dims: int | None) -> Embedding:
    """Embed with a progress bar on stderr."""
    from graphveil.experiments.embedding import embed_spec

    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        current = bars.add_task("starting", total=100)
        return embed_spec(
            spec,
            dims=dims,
            inside=lambda what, share: bars.update(current, description=what, completed=int(100 * share)),
        )


def told(embedding: Embedding, file: Path) -> dict[str, Any]:
    """What `--json` says of an embedding."""
    about = embedding.about()
    first = ("method", "data", "task", "epsilon", "mechanism", "backbone", "seed", "version")
    return {
        **{key: about[key] for key in first},
        "shape": list(embedding.shape),
        "file": str(file),
        "privacy": embedding.privacy,
        "statement": embedding.statement,
    }


def size(count: int) -> str:
    """Bytes in the unit that suits them.

    >>> [size(count) for count in (900, 65_000, 4_000_000)]
    ['900 bytes', '65 kB', '4.0 MB']
    """
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1e3:.0f} kB" if count < 1e6 else f"{count / 1e6:.1f} MB"
