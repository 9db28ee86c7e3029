"""Predictions and embeddings of a graph that is too large for one file: a folder of Parquet files by partition."""

from __future__ import annotations

import json
from pathlib import Path

from graphveil.cli.bars import one_bar
from graphveil.cli.console import say
from graphveil.cli.interrupts import saying
from graphveil.engine.engine import Engine
from graphveil.errors import InputError
from graphveil.experiments.runs.parted_unit import compute_unit
from graphveil.experiments.runs.privacy_record import Privacy
from graphveil.experiments.runs.shard_files import RECORD, Kind, RowFiles
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.store.whole_file import write_whole
from graphveil.graphs.load import large_shards
from graphveil.version import __version__

# Said when it is interrupted.
GOES_ON = "what was learned up to the last checkpoint is kept, and the same command goes on from there"


def written_in_shards(spec: Spec, kind: Kind, out: Path, engine: Engine, as_json: bool) -> bool:
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
    privacy = Privacy.model_validate(unit.privacy)
    record = {
        "method": spec.method,
        "data": spec.data,
        "epsilon": spec.budgets.epsilon,
        "seed": spec.seed,
        "version": __version__,
        "folder": str(out),
        "kind": kind,
        "privacy": unit.privacy,
        "statement": privacy.sentence,
        "also": unit.also,
        "seconds": unit.seconds["total"],
        "peak_mb": unit.peak_mb,
    }
    write_whole(out / RECORD, (json.dumps(record, ensure_ascii=False, indent=1) + "\n").encode())
    if as_json:
        say(json.dumps(record, ensure_ascii=False))
    else:
        say(
            f"{kind.capitalize()} are in {out}, a file a partition; what they cost is in {out / RECORD}: {privacy.sentence}"
        )
    return True
