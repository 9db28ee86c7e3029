"""How many processes compute: a number that is given, or ``auto``, which is decided by what there is to do and what is idle."""

import pytest

from graphveil.cli import status
from graphveil.errors import InputError
from graphveil.experiments import engine, runner
from graphveil.experiments.engine import GIGABYTES_EACH, WORK_EACH, Engine, check_jobs, idle_jobs, read_jobs
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.runner import Runner, RunOptions, run_experiment, with_job_count
from graphveil.experiments.tuning import SearchSpace, search_jobs

MUCH, ROOM = 1000 * WORK_EACH, 1000 * GIGABYTES_EACH
SMALL = {"epochs": 2, "data.users": 200, "data.features": 16, "data.telling": 4, "data.labelled": 0.2}
SPEC = Experiment.of(
    "base", "town", epsilon=2.0, runs=3, settings={**SMALL, "data.validated": 0.2}
).resolved()


@pytest.mark.parametrize(
    ("units", "work", "processors", "busy", "gigabytes", "expected"),
    [
        (20, MUCH, 8, 0.0, ROOM, 8),
        (20, MUCH, 8, 0.4, ROOM, 8),
        (20, MUCH, 8, 3.1, ROOM, 5),
        (20, MUCH, 8, 11.0, ROOM, 1),
        (3, MUCH, 8, 0.0, ROOM, 3),
        (1, MUCH, 8, 0.0, ROOM, 1),
        (20, 2.5 * WORK_EACH, 8, 0.0, ROOM, 2),
        (20, 0.1 * WORK_EACH, 8, 0.0, ROOM, 1),
        (20, MUCH, 8, 0.0, 4.1 * GIGABYTES_EACH, 4),
        (20, MUCH, 1, 0.0, ROOM, 1),
        (0, 0.0, 8, 0.0, ROOM, 1),
    ],
)
def test_as_many_as_are_idle_have_enough_to_do_and_have_room(
    units, work, processors, busy, gigabytes, expected
):
    assert idle_jobs(units, work, processors, busy, gigabytes) == expected


@pytest.fixture
def idle_machine(monkeypatch):
    """Three idle processors with enough memory, on which whatever there is to do is worth a process."""
    monkeypatch.setattr(engine, "usable_processors", lambda: 3)
    monkeypatch.setattr(engine, "busy_processors", lambda: 0.0)
    monkeypatch.setattr(engine, "available_gigabytes", lambda: ROOM)
    monkeypatch.setattr(engine, "WORK_EACH", 1.0)


def numbers(result):
    return {
        (unit.part, unit.run): (unit.score, unit.detail, unit.privacy, unit.also) for unit in result.units
    }


@pytest.mark.usefixtures("idle_machine")
def test_auto_changes_no_number(monkeypatch):
    started = []
    parallel = Runner._parallel

    def counted(self, *arguments):
        started.append(self.options.jobs)
        return parallel(self, *arguments)

    monkeypatch.setattr(Runner, "_parallel", counted)
    auto = run_experiment(SPEC, RunOptions(jobs="auto", keep=False))
    alone = run_experiment(SPEC, RunOptions(jobs=1, keep=False))
    assert numbers(auto) == numbers(alone) and started == [3]


@pytest.mark.usefixtures("idle_machine")
def test_work_is_epochs_times_users_and_links(monkeypatch):
    seen = []
    monkeypatch.setattr(engine, "idle_jobs", lambda units, work, *_: seen.append((units, work)) or 1)
    with_job_count(RunOptions(jobs="auto"), [SPEC])
    graph = runner.load_data(SPEC)[0]
    parts = len(runner.parts_of(SPEC))
    assert seen == [(3 * parts, 3 * parts * 2 * (50_000 + graph.node_count + 2 * graph.edge_count))]


@pytest.mark.usefixtures("idle_machine")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (RunOptions(jobs=2), 2),
        (RunOptions(), None),
        (RunOptions(jobs="auto", engine=Engine("ray")), None),
        (RunOptions(jobs="auto", engine=Engine(workers=2)), None),
    ],
)
def test_a_number_stays_and_ray_and_workers_count_for_themselves(options, expected):
    assert with_job_count(options, [SPEC]).jobs == expected


@pytest.mark.usefixtures("idle_machine")
@pytest.mark.parametrize(("more", "expected"), [(0, 3), (-1, None)], ids=["a whole grid", "TPE"])
def test_a_search_that_depends_on_the_order_of_trials_is_one_process(more, expected):
    space = SearchSpace.of(SPEC)
    assert search_jobs(SPEC, space, space.size + more, "auto", Engine()) == expected


@pytest.mark.parametrize(("written", "expected"), [("3", 3), ("auto", "auto"), ("-1", -1), ("two", "two")])
def test_a_number_is_read_as_it_is_written(written, expected):
    assert read_jobs(written) == expected


@pytest.mark.parametrize(
    ("jobs", "said"),
    [(0, "at least 1, got 0"), ("two", "whole number or auto, got 'two'"), (True, "must be an integer")],
)
def test_what_is_no_number_of_processes_is_refused(jobs, said):
    with pytest.raises(InputError, match=said):
        check_jobs(jobs)


def test_the_command_says_what_jobs_can_be(capsys, own_folder):
    calls = [
        ["run", "base", "--data", "town", "--epsilon", "1"],
        ["demo"],
        ["paper", "ppgnn"],
    ]
    for call in calls:
        assert status([*call, "--jobs", "two"]) == 2
        assert "--jobs takes a whole number or auto, got 'two'" in " ".join(capsys.readouterr().err.split())
