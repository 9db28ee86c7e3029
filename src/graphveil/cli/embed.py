"""graphveil embed: a row of numbers for each user, written to a file with what it cost."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.cli.console import one_bar, say
from graphveil.cli.options import AsJson, Computing, OneRun, Options, with_options
from graphveil.cli.predict import written_in_shards
from graphveil.experiments.embedding import Embedding, check_embedding, check_file, embed_known
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.figure import check_figure
from graphveil.experiments.run_figures import embedding_map
from graphveil.number_format import file_size
from graphveil.settings import peak_megabytes


@with_options
def embed(
    *,
    experiment: OneRun,
    out: Annotated[
        Path,
        typer.Option(
            help="The file to write: .npz, or .parquet with pyarrow; of a large sharded graph, a new folder."
        ),
    ],
    computing: Annotated[Computing, Options(only=("engine", "workers"))],
    dims: Annotated[
        int | None, typer.Option(help="Reduce the columns to so many by a truncated SVD; it costs nothing.")
    ] = None,
    map_file: Annotated[
        Path | None,
        typer.Option(
            "--map",
            help="Also draw a map of the rows by t-SNE, with the classes that are known: .svg or .png.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write what a method learns of each user, a row of numbers each, to a file that says what it cost.

    The method runs as in the first run of `graphveil run`: with --task node it learns from the labels of that seed's split,
    with --task link from the training links alone. Reports are simulated from the seed.

    Example: graphveil embed lpgnn --data town --epsilon 4 --dims 8 --out town.npz

    Example: graphveil embed base --data town --epsilon 4 --out town.npz --map town.svg

    Example: graphveil embed lpgnn --data SHARDS --epsilon 4 --workers 4 --out FOLDER
    """
    if written_in_shards(experiment, "embeddings", out, computing.resolved_engine, as_json):
        return
    check_file(out)
    if map_file is not None:
        check_figure(map_file)
    check_embedding(experiment, dims)
    start = time.perf_counter()
    embedding = watched(experiment, dims, map_file)
    embedding.save(out)
    if as_json:
        took = {"seconds": time.perf_counter() - start, "peak_mb": peak_megabytes()}
        say(json.dumps({**told(embedding, out, map_file), **took}, ensure_ascii=False))
    else:
        rows, columns = embedding.shape
        say(f"{rows} x {columns} numbers are in {out} ({file_size(out.stat().st_size)}).")
        if map_file is not None:
            say(f"The map is in {map_file}.")
        say(embedding.statement)


def watched(spec: Experiment, dims: int | None, map_file: Path | None = None) -> Embedding:
    """Embed, and draw the map where one is asked for, with a progress bar on stderr."""
    with one_bar() as inside:
        embedding, known = embed_known(spec, dims=dims, inside=inside)
        if map_file is not None:
            inside("drawing the map", 1.0)
            embedding_map(spec, embedding.values, known).write(map_file)
        return embedding


def told(embedding: Embedding, file: Path, map_file: Path | None = None) -> dict[str, Any]:
    """What `--json` says of an embedding."""
    about = embedding.about()
    first = ("method", "data", "task", "epsilon", "mechanism", "backbone", "seed", "version")
    return {
        **{key: about[key] for key in first},
        "shape": list(embedding.shape),
        "file": str(file),
        "map": None if map_file is None else str(map_file),
        "privacy": embedding.privacy,
        "statement": embedding.statement,
    }
