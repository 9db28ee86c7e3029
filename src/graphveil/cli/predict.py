"""graphveil predict: a class with its probability for every user, written to a file with what it cost beside it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from graphveil.cli.console import one_bar, print_result
from graphveil.cli.one_run import RunOfRows
from graphveil.cli.options import with_options
from graphveil.experiments.artefacts import (
    check_predictions,
    check_predictions_file,
    predict_experiment,
    record_file,
)
from graphveil.number_format import file_size
from graphveil.settings import peak_megabytes


@with_options
def predict(
    *,
    out: Annotated[
        Path,
        typer.Option(
            help="The file to write: .csv, or .parquet with pyarrow; of a large sharded graph, a new folder."
        ),
    ],
    options: RunOfRows,
) -> None:
    """Write a class with its probability for every user to a file, and the privacy record beside it as FILE.json.

    The method runs as in the first run of `graphveil run`. A row is a user: number, id where the graph's file has `ids`, part of the split
    (train, validation, test or none), class, its probability, and those of all classes as p0, p1 and so on. Probabilities are calibrated by
    one temperature on validation users, unless labels are private; the record says which. Reports are simulated from the seed.

    Example: graphveil predict veil --data town --epsilon 2 --out town.csv

    Example: graphveil predict base --data mine.npz --range 0,1 --epsilon 4 --out mine.parquet

    Example: graphveil predict base --data SHARDS --epsilon 4 --workers 4 --out FOLDER
    """
    spec = options.experiment
    if options.write_in_shards("predictions", out):
        return
    check_predictions_file(out)
    check_predictions(spec)
    start = time.perf_counter()
    with one_bar() as inside:
        predictions = predict_experiment(spec, inside=inside)
    predictions.save(out)
    about, record = predictions.about(), record_file(out)
    del about["settings"]
    took = {"seconds": time.perf_counter() - start, "peak_mb": peak_megabytes()}
    print_result(
        {**about, "file": str(out), "record": str(record), **took},
        options.as_json,
        f"Predictions are in {out} ({file_size(out.stat().st_size)}): {predictions.summary}.",
        f"Probabilities are {predictions.calibration}.",
        f"What it cost is in {record}: {predictions.statement}",
    )
