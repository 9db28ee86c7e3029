import re

import pytest

from graphveil.errors import InputError
from graphveil.experiments.engine import HERE, Engine, check_address, host_and_port
from tests.fixtures import printed_by
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
    # Only Ray has an address; workers are counted, and checkpoints are each so many epochs.
    check_refused(Engine, [("local", "auto", f"{NO_ENGINE} 'local://auto'")])
    cases = [(workers, "workers must be an integer of at least 1") for workers in (0, -1, 1.5, True, "2")]
    check_refused(lambda workers: Engine("ray", workers=workers), cases)
    cases = [(epochs, "checkpoint_every must be") for epochs in (0, -1, 2.5)]
    check_refused(lambda epochs: Engine(workers=2, checkpoint_every=epochs), cases)


def test_workers_share_one_run_and_nothing_that_has_many():
    for shared in (Engine(workers=2), Engine.of("ray", workers=2)):
        with pytest.raises(InputError, match="a sweep has many: leave workers out"):
            shared.check_units("a sweep")
        assert shared.inside(None)
    Engine.of("ray").check_units("a sweep")


def test_units_are_computed_in_this_process_where_nothing_else_is_asked_for():
    found = [HERE.inside(None), HERE.inside(1), HERE.inside(2), Engine("ray").inside(1)]
    assert found == [True, True, False, False]
    # No more processes are started than there is to do.
    with HERE.pool(3, 1) as pool:
        assert pool.count == 1


def test_naming_ray_imports_nothing_of_it():
    code = "import sys; from graphveil.experiments.engine import Engine; Engine.of('ray://auto'); print('ray' in sys.modules)"
    assert printed_by(code).strip() == "False"


def test_an_address_is_a_host_with_a_port():
    places = {
        "10.0.0.7:6379": ("10.0.0.7", 6379),
        "head.example:65535": ("head.example", 65535),
        "[fe80::1]:1": ("fe80::1", 1),
        "auto": None,
    }
    for address in places:
        check_address(address)
    assert {address: host_and_port(address) for address in places} == places


def test_anything_else_is_refused_with_an_example():
    addresses = (
        "",
        "head",
        "head:",
        ":6379",
        "head:0",
        "head:65536",
        "head:six",
        "a b:1",
        "head:1/x",
        "AUTO",
    )
    words = re.compile("is no address: give ray://HOST:PORT .* ray://127.0.0.1:6379")
    check_refused(check_address, [(address, words) for address in addresses])
