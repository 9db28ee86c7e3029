"""graphveil predict, embed and plot: an experiment run once, and what was learned written to a file."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from graphveil import scale
from graphveil.cli.console import on_interrupt, one_bar, print_result, say
from graphveil.cli.options import AsJson, Computing, Figure, Options, output
from graphveil.errors import InputError
from graphveil.experiments.artefacts import (
    FORMATS,
    check_embedding,
    check_predictions,
    check_predictions_file,
    embed_experiment,
    predict_experiment,
    record_file,
)
from graphveil.experiments.drawings import RUN_FIGURES
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, learn_unit
from graphveil.files import FIGURES, check_output, write_whole
from graphveil.graphs.load import large_shards
from graphveil.methods.terms import option
from graphveil.number_format import file_size
from graphveil.settings import peak_megabytes

# What an interrupt says where workers write checkpoints.
CHECKPOINTS_KEPT = (
    "what was learned up to the last checkpoint is kept, and the same command goes on from there"
)


# The first run of an experiment, as `graphveil run` has it.
OneRun = Annotated[
    Experiment,
    Options(without=("runs", "control"), help={"seed": "The seed of split, reports and model."}),
]


@dataclass(frozen=True)
class RunOfRows:
    """One run of which a row for each user is written, and what computes it."""

    experiment: OneRun
    computing: Annotated[Computing, Options(only=("engine", "workers"))]
    as_json: AsJson = False

    def write_in_shards(self, kind: scale.RowKind, out: Path) -> bool:
        """Write a folder of files where the graph is sharded and large; False where it is not, and a file will do."""
        spec, engine = self.experiment, self.computing.resolved_engine
        if large_shards(spec.data) is None:
            if engine.workers is not None:
                raise InputError(
                    f"--workers is for sharded graphs too large for one process: leave it out for {spec.data}"
                )
            return False
        spec.check()
        files, file = scale.RowFiles(out, kind), out / scale.RECORD
        files.make_folder()
        with one_bar() as inside, on_interrupt(CHECKPOINTS_KEPT), engine.open():
            unit = scale.compute_in_parts(RunUnit(spec), engine, inside, files)
        about = spec.about()
        record = {
            **{name: about[name] for name in ("method", "data", "epsilon", "seed", "version")},
            "folder": str(out),
            "kind": kind,
            "privacy": unit.privacy.to_dict(),
            "statement": unit.privacy.sentence,
            "also": unit.also,
            "seconds": unit.seconds["total"],
            "peak_mb": unit.peak_mb,
        }
        write_whole(file, json.dumps(record, ensure_ascii=False, indent=1) + "\n")
        print_result(
            record,
            self.as_json,
            f"{kind.capitalize()} are in {out}, a file a partition; what they cost is in {file}: {record['statement']}",
        )
        return True


def predict(
    *,
    out: Path = option(
        ..., "The file to write: .csv, or .parquet with pyarrow; of a large sharded graph, a new folder."
    ),
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


def embed(
    *,
    out: Path = option(
        ..., "The file to write: .npz, or .parquet with pyarrow; of a large sharded graph, a new folder."
    ),
    options: RunOfRows,
    dims: int | None = option(None, "Reduce the columns to so many by a truncated SVD; it costs nothing."),
    map_file: Figure = option(
        None, "Also draw a map of the rows by t-SNE, with the classes that are known: .svg or .png.", "--map"
    ),
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


def plot(
    *,
    kind: str = option("confusion", f"What to draw: {', '.join(RUN_FIGURES)}."),
    out: Annotated[Path, output(*FIGURES)] = option(
        ..., "The file to write: .svg, which follows dark mode, or .png."
    ),
    experiment: OneRun,
) -> None:
    """Draw one run: which classes are taken for which, scores of each class, users with truth and prediction, a map, training.

    The method runs as in the first run of `graphveil run`. confusion and classes count test users; graph shows up to 240 users who know each
    other, and who is taken for another; map brings what was learned of each user to two dimensions by t-SNE; training shows losses over epochs.

    Example: graphveil plot base --data town --epsilon 4 --kind graph --out town.svg
    """
    if kind not in RUN_FIGURES:
        raise InputError(f"kind must be one of {', '.join(RUN_FIGURES)}, got {kind!r}")
    check_predictions(experiment)
    with one_bar() as inside:
        learned = learn_unit(RunUnit(experiment), inside)
        inside(f"drawing {kind}", 1.0)
        RUN_FIGURES[kind](*learned).write(out)
    say(f"The figure is in {out}.")
