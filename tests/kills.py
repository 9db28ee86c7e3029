"""Sweeps that are killed at random moments: what they say that they have done, and whether all of that is true afterwards.

As a program, this runs one sweep and writes down what it says, or, with tiny units in place of learning, a whole campaign.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from graphveil.cli import status
from graphveil.experiments import ResultStore
from graphveil.experiments.runs import cells as cells_module
from graphveil.experiments.runs import runner as runner_module
from graphveil.experiments.runs.unit import UnitResult
from graphveil.experiments.runs.unit_store import UnitStore
from graphveil.experiments.store.database import RESULTS, select
from graphveil.experiments.sweeps.sweep import find_sweep
from graphveil.settings import settings

EPSILONS = (1.0, 2.0, 4.0)
RUNS = 3
SWEEP = f"""
title = "many tiny runs"
[base]
method = "base"
data = "town"
runs = {RUNS}
[base.settings]
epochs = 1
data.users = 200
data.features = 16
data.telling = 4
data.labelled = 0.2
data.validated = 0.2
[[axes]]
field = "epsilon"
values = {list(EPSILONS)}
"""
# Each ε has its own method and control; structure is shared by all.
UNITS = RUNS * (2 * len(EPSILONS) + 1)


class Diary:
    """What sweeps have said so far, line by line: a line is written as a whole or not at all."""

    def __init__(self, file):
        self.file = file

    def write(self, *words):
        line = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(line, (json.dumps(words) + "\n").encode())
        os.close(line)

    def entries(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []


def watched_sweep(diary, arguments):
    """Run a sweep as the command line does, and write down what it computes, and what it says is finished or kept."""
    compute, run_spec, run_cells = runner_module.run_unit, cells_module.run_spec, cells_module.run_cells

    def run_unit(spec, part, run, *rest):
        diary.write("computes", spec.key(part, run))
        return compute(spec, part, run, *rest)

    def telling_spec(spec, *, watch, **options):
        def told(unit, done, total):
            watch(unit, done, total)
            diary.write("finished", spec.key(unit.part, unit.run))

        return run_spec(spec, watch=told, **options)

    def telling_cells(specs, *, keep, **options):
        def kept(result):
            keep(result)
            diary.write("kept", result.spec.budgets.epsilon)

        return run_cells(specs, keep=kept, **options)

    if "--jobs" not in arguments:
        # Other processes compute with their own, and nothing here could be sent to them.
        runner_module.run_unit = run_unit
    cells_module.run_spec = telling_spec
    sys.modules["graphveil.cli.cells"].run_cells = telling_cells
    return status(arguments)


def campaign(start, diary, sweep, seed):
    """Kill what ``start`` starts at random moments and start it again, until it is through; how often it was killed.

    A moment is so many lines after the start, and a few milliseconds more: no machine is too slow to come to an end.
    """
    moments, kills = random.Random(seed), 0
    while True:
        before, lines = len(diary.entries()), moments.randint(0, 10)
        child = start()
        if lines == 0:
            time.sleep(moments.uniform(0, 0.1))
        while not (state := os.waitpid(child, os.WNOHANG))[0]:
            if len(diary.entries()) - before >= lines:
                time.sleep(moments.uniform(0, 0.005))
                os.kill(child, signal.SIGKILL)
                state = os.waitpid(child, 0)
                break
            time.sleep(0.0005)
        check_true(diary)
        if os.WIFEXITED(state[1]):
            assert os.WEXITSTATUS(state[1]) == 0
            check_whole(sweep)
            return kills
        kills += 1


def tiny_unit(spec, part, run, *_rest):
    """What stands for learning where only the store is looked at: a score that follows from what is asked for."""
    time.sleep(0.002)
    seconds = dict.fromkeys(("report", "denoise", "train", "total"), 0.002)
    return UnitResult(part, run, tiny_score(spec.key(part, run)), "tiny", {"trust": "local"}, seconds, 1.0)


def tiny_score(key):
    return random.Random(key).random()


def check_true(diary):
    """All that was said to be finished or kept is there, and nothing is there twice."""
    file = settings().cache / RESULTS
    (units,) = select(file, "SELECT setting, seed, part FROM units", ())
    keys = [setting for setting, _, _ in units]
    assert len(set(units)) == len(units), "a unit is there twice"
    said = diary.entries()
    lost = {key for what, key in said if what == "finished"} - set(keys)
    assert not lost, f"{len(lost)} units that were finished are lost"
    found = [record.epsilon for record in ResultStore(file).records()]
    assert len(set(found)) == len(found), "a result is there twice"
    lost = {epsilon for what, epsilon in said if what == "kept"} - set(found)
    assert not lost, f"{len(lost)} results that were kept are lost"
    assert select(file, "PRAGMA integrity_check", ()) in ([[("ok",)]], [[]])


def check_whole(sweep):
    """In the end all units and results are there, and they belong to each other."""
    file = settings().cache / RESULTS
    assert len(select(file, "SELECT id FROM units", ())[0]) == UNITS
    records = {record.epsilon: record for record in ResultStore(file).records()}
    assert sorted(records) == sorted(EPSILONS)
    for cell in find_sweep(str(sweep)).cells():
        units = UnitStore(file).find(cell.spec, ["method"])
        record = records[cell.spec.budgets.epsilon]
        assert not record.interrupted
        assert list(record.runs) == [unit.score for unit in sorted(units, key=lambda unit: unit.run)]


def check_computed_once(diary):
    """What was said to be finished was never computed again."""
    finished = set()
    for what, key in diary.entries():
        assert what != "computes" or key not in finished, "what was finished is computed again"
        finished |= {key} if what == "finished" else set()


def tiny_campaign(folder, seed):
    """A campaign in forked processes, which have loaded everything: a kill takes a moment."""
    import matplotlib.backends.backend_svg  # noqa: F401
    import scipy.stats  # noqa: F401

    os.environ["GRAPHVEIL_CACHE"] = str(folder / "cache")
    runner_module.run_unit = tiny_unit
    sweep, diary = folder / "many.toml", Diary(folder / "diary")
    sweep.write_text(SWEEP)

    def start():
        child = os.fork()
        if child == 0:
            figure = str(folder / "many.svg")
            os._exit(watched_sweep(diary, ["sweep", str(sweep), "--out", figure, "--json"]))
        return child

    kills = campaign(start, diary, sweep, seed)
    check_computed_once(diary)
    specs = {cell.spec.budgets.epsilon: cell.spec for cell in find_sweep(str(sweep)).cells()}
    for record in ResultStore(settings().cache / RESULTS).records():
        expected = [tiny_score(specs[record.epsilon].key("method", run)) for run in range(RUNS)]
        assert list(record.runs) == expected, "a result has other numbers than were computed"
    return kills


def tiny_campaigns(folder, least):
    """Campaigns until so many kills are done: a sweep may be faster than whoever kills it."""
    kills = seed = 0
    while kills < least:
        place = folder / str(seed)
        place.mkdir()
        kills += tiny_campaign(place, seed)
        seed += 1


if __name__ == "__main__":
    if sys.argv[1] == "tiny":
        tiny_campaigns(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(watched_sweep(Diary(Path(sys.argv[2])), sys.argv[3:]))
