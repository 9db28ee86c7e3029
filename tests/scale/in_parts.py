"""What tests of workers share: a small job, and a worker that is lost."""

import os
import signal
import threading
import time

import numpy as np

from graphveil import learn
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.unit import RunUnit, learn_unit, open_unit
from graphveil.scale.partition_learning import learn_in_parts
from graphveil.scale.partitioned_graph import Division
from graphveil.scale.workers import ProcessWorkers


def small_spec(method="base", **options):
    settings = {"epochs": 6, "data.users": 400, **options.pop("settings", {})}
    return Experiment.of(method, "town", epsilon=4.0, settings=settings, **options)


def in_one_process(spec, part="method"):
    with learn.one_thread():
        return learn_unit(RunUnit(spec, part))


def in_parts(spec, workers, part="method", load=None, **options):
    """The same by workers; with the job as it was ready, whose books tell what was spent."""
    ready = open_unit(RunUnit(spec, part))
    by = options.pop("by", None) or ProcessWorkers()
    load = load or spec.load_code
    return ready, learn_in_parts(ready.method.name, ready.job, by, workers, load, **options)


def lost_at(file, marker):
    """Kill this process as soon as there is such a file, unless it was done before."""

    def watch():
        while not file.exists():
            time.sleep(0.001)
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    if not marker.exists():
        threading.Thread(target=watch, daemon=True).start()


def refused_in_one(marker):
    """Raise in the worker that comes first, and in no other."""
    from graphveil.errors import InputError

    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return
    raise InputError("this worker does not like its part: give it another")


def by_role(graph, workers):
    """All who train to the first of three workers, all who validate to the second, everybody else to the third."""
    assert workers == 3
    roles = np.where(graph.train, 0, np.where(graph.validation, 1, 2))
    order = np.argsort(roles, kind="stable")
    return Division(order, np.searchsorted(roles[order], np.arange(4)), 0.5)


def at_fault(task, collective, caller):
    """A worker with a mistake in it, which notes each time that it begins."""
    error, notes = task
    with open(notes, "a") as file:
        file.write("x")
    raise error


def waits_forever(task, collective, caller):
    """A worker that says that it has begun, and is never done."""
    task.touch()
    time.sleep(600)
