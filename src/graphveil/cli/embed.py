"""graphveil embed: a row of numbers for each user, written to a file with what it cost."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.cli.bars import one_bar
from graphveil.cli.experiment import Asked, Terms, spec_of
from graphveil.cli.groups import grouped
from graphveil.cli.options import AsJson
from graphveil.experiments.embeddings.embedding import Embedding, check_embedding, embed_spec
from graphveil.experiments.embeddings.file import check_file
from graphveil.experiments.runs.format import file_size
from graphveil.experiments.runs.unit import peak_megabytes
from graphveil.experiments.specs.spec import Spec


@grouped
def embed(
    *,
    asked: Asked,
    out: Annotated[Path, typer.Option(help="The file to write: .npz, or .parquet with pyarrow.")],
    seed: Annotated[int, typer.Option(help="The seed of split, reports and model.")] = 0,
    terms: Terms,
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
    spec = spec_of(asked, terms, seed=seed)
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
        typer.echo(f"{rows} x {columns} numbers are in {out} ({file_size(out.stat().st_size)}).")
        typer.echo(embedding.statement)


def watched(spec: Spec, dims: int | None) -> Embedding:
    """Embed with a progress bar on stderr."""
    with one_bar() as inside:
        return embed_spec(spec, dims=dims, inside=inside)


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
