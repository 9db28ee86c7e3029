"""graphveil predict: a class with its probability for every user, written to a file with what it cost beside it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.cli.bars import one_bar
from graphveil.cli.console import say
from graphveil.cli.engines import chosen_engine
from graphveil.cli.experiment import Asked, Terms, spec_of
from graphveil.cli.groups import grouped
from graphveil.cli.in_shards import written_in_shards
from graphveil.cli.options import AsJson, EngineName, Workers
from graphveil.experiments.runs.format import file_size
from graphveil.experiments.runs.predictions import Predictions, check_predictions, predict_spec
from graphveil.experiments.runs.predictions_file import check_predictions_file, record_file
from graphveil.settings import peak_megabytes


@grouped
def predict(
    *,
    asked: Asked,
    out: Annotated[
        Path,
        typer.Option(
            help="The file to write: .csv, or .parquet with pyarrow; of a large sharded graph, a new folder."
        ),
    ],
    seed: Annotated[int, typer.Option(help="The seed of split, reports and model.")] = 0,
    engine: EngineName = "local",
    workers: Workers = None,
    terms: Terms,
    as_json: AsJson = False,
) -> None:
    """Write a class with its probability for every user to a file, and the privacy record beside it as FILE.json.

    The method runs as in the first run of `graphveil run`. A row is a user: number, id where the graph's file has `ids`, part of the split
    (train, validation, test or none), class, its probability, and those of all classes as p0, p1 and so on. Probabilities are calibrated by
    one temperature on validation users, unless labels are private; the record says which. Reports are simulated from the seed.

    Example: graphveil predict veil --data town --epsilon 2 --out town.csv

    Example: graphveil predict base --data mine.npz --range 0,1 --epsilon 4 --out mine.parquet

    Example: graphveil predict base --data SHARDS --epsilon 4 --workers 4 --out FOLDER
    """
    spec = spec_of(asked, terms, seed=seed)
    if written_in_shards(spec, "predictions", out, chosen_engine(engine, workers, None), as_json):
        return
    check_predictions_file(out)
    check_predictions(spec)
    start = time.perf_counter()
    with one_bar() as inside:
        predictions = predict_spec(spec, inside=inside)
    predictions.save(out)
    if as_json:
        took = {"seconds": time.perf_counter() - start, "peak_mb": peak_megabytes()}
        say(json.dumps({**told(predictions, out), **took}, ensure_ascii=False))
    else:
        say(f"Predictions are in {out} ({file_size(out.stat().st_size)}): {predictions.summary}.")
        say(f"Probabilities are {predictions.calibration}.")
        say(f"What it cost is in {record_file(out)}: {predictions.statement}")


def told(predictions: Predictions, file: Path) -> dict[str, Any]:
    """What `--json` says of predictions."""
    about = predictions.about()
    return {
        **{key: value for key, value in about.items() if key != "settings"},
        "file": str(file),
        "record": str(record_file(file)),
    }
