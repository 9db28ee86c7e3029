import subprocess
import sys

import pytest

from graphveil.errors import InputError
from graphveil.experiments.engine import HERE, Engine


@pytest.mark.parametrize(
    ("written", "engine"),
    [
        ("local", Engine()),
        ("ray", Engine("ray")),
        ("ray://10.0.0.7:6379", Engine("ray", "10.0.0.7:6379")),
        ("ray://auto", Engine("ray", "auto")),
        (Engine("ray"), Engine("ray")),
    ],
)
def test_an_engine_is_read_as_it_is_written(written, engine):
    assert Engine.of(written) == engine


@pytest.mark.parametrize("written", ["", "Ray", "dask", "ray:", "local://auto", "ray//auto"])
def test_another_engine_is_refused(written):
    with pytest.raises(InputError, match="engine must be local, ray, ray://HOST:PORT or ray://auto, got"):
        Engine.of(written)


def test_only_ray_has_an_address():
    with pytest.raises(
        InputError, match="engine must be local, ray, ray://HOST:PORT or ray://auto, got .local://auto"
    ):
        Engine("local", "auto")


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_workers_are_counted(workers):
    with pytest.raises(InputError, match="workers must be an integer of at least 1"):
        Engine("ray", workers=workers)


def test_workers_share_one_run_and_nothing_that_has_many():
    for shared in (Engine(workers=2), Engine.of("ray", workers=2)):
        with pytest.raises(InputError, match="a sweep has many: leave workers out"):
            shared.check_units("a sweep")
        assert shared.inside(None)
    Engine.of("ray").check_units("a sweep")


@pytest.mark.parametrize("epochs", [0, -1, 2.5])
def test_checkpoints_are_each_so_many_epochs(epochs):
    with pytest.raises(InputError, match="checkpoint_every must be"):
        Engine(workers=2, checkpoint_every=epochs)


@pytest.mark.parametrize(
    ("engine", "jobs", "inside"),
    [(HERE, None, True), (HERE, 1, True), (HERE, 2, False), (Engine("ray"), 1, False)],
)
def test_units_are_computed_in_this_process_where_nothing_else_is_asked_for(engine, jobs, inside):
    assert engine.inside(jobs) is inside


def test_no_more_processes_are_started_than_there_is_to_do():
    with HERE.pool(3, 1) as pool:
        assert pool.count == 1


def test_naming_ray_imports_nothing_of_it():
    code = "import sys; from graphveil.experiments.engine import Engine; Engine.of('ray://auto'); print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
