import subprocess
import sys

import pytest

from graphveil.errors import InputError
from graphveil.experiments.engine import HERE, Engine
from tests.refusals import check_refused


def test_an_engine_is_read_as_it_is_written():
    expected = [
        ("local", Engine()),
        ("ray", Engine("ray")),
        ("ray://10.0.0.7:6379", Engine("ray", "10.0.0.7:6379")),
        ("ray://auto", Engine("ray", "auto")),
        (Engine("ray"), Engine("ray")),
    ]
    assert [(written, Engine.of(written)) for written, _ in expected] == expected


NO_ENGINE = "engine must be local, ray, ray://HOST:PORT or ray://auto, got"


def test_another_engine_is_refused():
    cases = [(written, NO_ENGINE) for written in ("", "Ray", "dask", "ray:", "local://auto", "ray//auto")]
    check_refused(Engine.of, cases)


def test_only_ray_has_an_address():
    with pytest.raises(
        InputError, match="engine must be local, ray, ray://HOST:PORT or ray://auto, got .local://auto"
    ):
        Engine("local", "auto")


def test_workers_are_counted():
    cases = [(workers, "workers must be an integer of at least 1") for workers in (0, -1, 1.5, True, "2")]
    check_refused(lambda workers: Engine("ray", workers=workers), cases)


def test_workers_share_one_run_and_nothing_that_has_many():
    for shared in (Engine(workers=2), Engine.of("ray", workers=2)):
        with pytest.raises(InputError, match="a sweep has many: leave workers out"):
            shared.check_units("a sweep")
        assert shared.inside(None)
    Engine.of("ray").check_units("a sweep")


def test_checkpoints_are_each_so_many_epochs():
    cases = [(epochs, "checkpoint_every must be") for epochs in (0, -1, 2.5)]
    check_refused(lambda epochs: Engine(workers=2, checkpoint_every=epochs), cases)


def test_units_are_computed_in_this_process_where_nothing_else_is_asked_for():
    found = [HERE.inside(None), HERE.inside(1), HERE.inside(2), Engine("ray").inside(1)]
    assert found == [True, True, False, False]


def test_no_more_processes_are_started_than_there_is_to_do():
    with HERE.pool(3, 1) as pool:
        assert pool.count == 1


def test_naming_ray_imports_nothing_of_it():
    code = "import sys; from graphveil.experiments.engine import Engine; Engine.of('ray://auto'); print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
