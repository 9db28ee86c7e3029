"""The demonstration in small: a collector and devices in this process, over HTTP, and the same numbers without them."""

from contextlib import contextmanager

import pytest

from graphveil.cli import status
from graphveil.collect import demo
from graphveil.collect.app import create_app
from graphveil.collect.demo import DemoSize, run_demo, workers
from graphveil.collect.storage import open_collection
from graphveil.experiments.experiment import Experiment
from tests.fixtures import serving

SIZE = DemoSize(devices=48, processes=0, neighbourhood=6, degree=4.0)
STUDIES = tuple(
    Experiment.of(method, "collection", settings={"epochs": 2}, epsilon=2.0) for method in ("togl", "veil")
)


@contextmanager
def in_a_thread(folder):
    """The collector of a folder, in this process."""
    collection = open_collection(folder)
    with serving(create_app(collection), lifespan="on") as address:
        yield address
    collection.database.close()


@pytest.fixture(scope="module")
def shown():
    said = []
    return run_demo(SIZE, said.append, studies=STUDIES, serving=in_a_thread), said


def test_it_says_who_was_asked_and_shows_equal_scores_beside_control_and_structure(shown):
    equal, said = shown
    assert equal
    assert sum("equal, bit for bit" in line for line in said) == 2
    _, said = shown
    assert "a collector, 48 devices, and everything between them over HTTP" in said[0]
    assert (
        "togl, round 1: asks 48 devices for values of the row, by piecewise at ε = 1 (exact: 1, rounded up)"
        in said[4]
    )
    assert "47 of 48 answered, over HTTP, and the others were out" in said[5]
    assert "togl, round 2" in said[6]
    assert "5 volunteers gave their rows as they are, by consent." in said
    (asked,) = [line for line in said if line.startswith("veil, round 3")]
    assert "for the class that a public model predicts from the row, by krr at ε = 2" in asked
    _, said = shown
    togl, veil = [line for line in said if "beside it" in line]
    assert "blinded reports of the same people" in togl and "graph and known labels alone" in togl
    assert "volunteers' rows alone" in veil


def test_nothing_is_left_of_it(shown, tmp_path, monkeypatch):
    monkeypatch.setattr(demo.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(demo, "memory", lambda: str(tmp_path))

    @contextmanager
    def interrupted(folder):
        raise KeyboardInterrupt
        yield ""

    with pytest.raises(KeyboardInterrupt):
        run_demo(SIZE, lambda line: None, studies=STUDIES, serving=interrupted)
    assert list(tmp_path.iterdir()) == []


def test_other_reports_are_seen(shown, monkeypatch):
    """The comparison can fail: reports of a round that were swapped between two people give other predictions."""
    original = demo._same_alone

    def swapped(collection, learned, sent):
        messages = {each.node: each for each in sent if each.round == 1}
        turned = [
            demo.SentReport(each.node, each.round, messages[47 - each.node].envelope, each.exact)
            if each.round == 1 and 47 - each.node in messages
            else each
            for each in sent
        ]
        return original(collection, learned, turned)

    monkeypatch.setattr(demo, "_same_alone", swapped)
    assert not run_demo(SIZE, lambda line: None, studies=STUDIES[:1], serving=in_a_thread)


def test_without_processes_the_work_is_done_here():
    with workers(0) as for_all:
        assert for_all(lambda share: share + 1, [1, 2]) == [2, 3]


@pytest.mark.parametrize("arguments", [("--devices", "3"), ("--processes", "0")])
def test_sizes_that_show_nothing_are_refused(arguments, capsys):
    assert status(["collect", "demo", *arguments]) == 2
    assert arguments[0].removeprefix("--") in capsys.readouterr().err
