"""Options of commands that run an experiment once and write what was learned: `predict`, `embed` and `plot`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from graphveil import scale
from graphveil.cli.console import on_interrupt, one_bar, print_result
from graphveil.cli.options import AsJson, Computing, Options
from graphveil.errors import InputError
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit
from graphveil.files import write_whole
from graphveil.graphs.load import large_shards

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
                    f"--workers write {kind} of sharded graphs that are too large for one process, and {spec.data} is none: leave --workers out"
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
