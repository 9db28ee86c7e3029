"""graphveil predict: a class with its probability for every user, written to a file with what it cost beside it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.cli.console import one_bar, say, saying
from graphveil.cli.options import (
    AsJson,
    Asked,
    EngineName,
    Terms,
    Workers,
    chosen_engine,
    experiment_of,
    grouped,
)
from graphveil.engine.engine import Engine
from graphveil.errors import InputError
from graphveil.experiments.compute import RECORD, Kind, RowFiles, compute_unit
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.predictions import (
    Predictions,
    check_predictions,
    check_predictions_file,
    predict_experiment,
    record_file,
)
from graphveil.files import write_whole
from graphveil.graphs.load import large_shards
from graphveil.number_format import file_size
from graphveil.settings import peak_megabytes
from graphveil.version import __version__

# Said when it is interrupted.
GOES_ON = "what was learned up to the last checkpoint is kept, and the same command goes on from there"


def written_in_shards(spec: Experiment, kind: Kind, out: Path, engine: Engine, as_json: bool) -> bool:
    """Write a folder of files where the graph is sharded and large, and tell; False where it is not, and a file will do."""
    if large_shards(spec.data) is None:
        if engine.workers is not None:
            raise InputError(
                f"--workers write {kind} of sharded graphs that are too large for one process, and {spec.data} is none: leave --workers out"
            )
        return False
    spec.check()
    files = RowFiles(out, kind)
    files.begin()
    with one_bar() as inside, saying(GOES_ON), engine.open():
        unit = compute_unit(spec, "method", 0, inside, engine=engine, out=files)
    record = {
        "method": spec.method,
        "data": spec.data,
        "epsilon": spec.budgets.epsilon,
        "seed": spec.seed,
        "version": __version__,
        "folder": str(out),
        "kind": kind,
        "privacy": unit.privacy.to_dict(),
        "statement": unit.privacy.sentence,
        "also": unit.also,
        "seconds": unit.seconds["total"],
        "peak_mb": unit.peak_mb,
    }
    write_whole(out / RECORD, (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode())
    if as_json:
        say(json.dumps(record, ensure_ascii=False))
    else:
        say(
            f"{kind.capitalize()} are in {out}, a file a partition; what they cost is in {out / RECORD}: {unit.privacy.sentence}"
        )
    return True


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
    spec = experiment_of(asked, terms, seed=seed)
    if written_in_shards(spec, "predictions", out, chosen_engine(engine, workers, None), as_json):
        return
    check_predictions_file(out)
    check_predictions(spec)
    start = time.perf_counter()
    with one_bar() as inside:
        predictions = predict_experiment(spec, inside=inside)
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
