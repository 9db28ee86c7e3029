"""graphveil embed: a row of numbers for each user, written to a file with what it cost."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.cli.console import one_bar, print_result
from graphveil.cli.one_run import RunOfRows
from graphveil.cli.options import with_options
from graphveil.experiments.artefacts import FORMATS, check_embedding, embed_experiment
from graphveil.files import FIGURES, check_output
from graphveil.number_format import file_size
from graphveil.settings import peak_megabytes


@with_options
def embed(
    *,
    out: Annotated[
        Path,
        typer.Option(
            help="The file to write: .npz, or .parquet with pyarrow; of a large sharded graph, a new folder."
        ),
    ],
    options: RunOfRows,
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
) -> None:
    """Write what a method learns of each user, a row of numbers each, to a file that says what it cost.

    The method runs as in the first run of `graphveil run`: with --task node it learns from the labels of that seed's split,
    with --task link from the training links alone. Reports are simulated from the seed.

    Example: graphveil embed lpgnn --data town --epsilon 4 --dims 8 --out town.npz

    Example: graphveil embed base --data town --epsilon 4 --out town.npz --map town.svg

    Example: graphveil embed lpgnn --data SHARDS --epsilon 4 --workers 4 --out FOLDER
    """
    spec = options.experiment
    if options.write_in_shards("embeddings", out):
        return
    check_output(out, FORMATS, "--out")
    if map_file is not None:
        check_output(map_file, FIGURES, "--map")
    check_embedding(spec, dims)
    start = time.perf_counter()
    with one_bar() as inside:
        embedding = embed_experiment(spec, dims=dims, inside=inside, map_file=map_file)
    embedding.save(out)
    about, (rows, columns) = embedding.about(), embedding.shape
    fields: dict[str, Any] = spec.about()
    fields |= {"shape": [rows, columns], "file": str(out), "map": None if map_file is None else str(map_file)}
    fields |= {"privacy": about["privacy"], "statement": embedding.statement}
    print_result(
        {**fields, "seconds": time.perf_counter() - start, "peak_mb": peak_megabytes()},
        options.as_json,
        f"{rows} x {columns} numbers are in {out} ({file_size(out.stat().st_size)}).",
        *([] if map_file is None else [f"The map is in {map_file}."]),
        embedding.statement,
    )
