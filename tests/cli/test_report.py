import json

import pytest

from graphveil.experiments.store import RESULTS, change, select
from tests.cli.test_run import RUN, SMALL

pytestmark = pytest.mark.usefixtures("own_cache")


@pytest.fixture
def page(call, tmp_path):
    """Calls the command, which writes a page: that page, and what it printed."""

    def written(words="--no-energy"):
        told = call(f"report {words} --out {tmp_path / 'x.html'}")
        return (tmp_path / "x.html").read_text(), told

    return written


def test_what_was_run_is_reported(tmp_path, call, page):
    call(RUN, "--no-control")
    call(RUN, "--no-control --epsilon 4 --runs 1")
    html, printed = page("--title 'Two runs' --hops 3")
    assert printed.out == f"The report of 2 results is in {tmp_path / 'x.html'}.\n"
    assert "energy of multibit on town" in printed.err
    assert "<title>Two runs</title>" in html
    assert html.count("<svg") == 2


def test_a_run_is_kept_and_what_json_printed_is_reported(tmp_path, call, page):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "one.json").write_text(call(RUN, "--no-control --json").out)
    pages = [page(f"{given} --no-energy")[0] for given in (folder, folder / "one.json")]
    assert pages[0] == pages[1]
    assert "1 result on 1 graph" in pages[0]
    (((text,),),) = select(tmp_path / "cache" / RESULTS, "SELECT result FROM results", ())
    fields = json.loads(text)
    assert fields["spec"]["settings"]["epochs"] == 3 and fields["interrupted"] is False


MISTAKES = [
    ("", "no run has left a result"),
    ("nowhere.json", "nowhere.json is not there"),
    ("--hops 0", "hops must be an integer of at least 1, got 0"),
    ("--out nowhere/report.html", "nowhere is not a folder"),
    ("--out .", "is a folder: name a file in it"),
]


def test_a_mistake_exits_with_2_and_one_line(refuses, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    refuses(MISTAKES, "report")


def infinite(**fields):
    """What a run with ppm-printed keeps: the level is not protected, and JSON has no infinite number."""
    levels = {"features": {"epsilon": 32.0, "delta": 0.0}, "level": {"epsilon": None, "delta": 0.0}}
    told = {"method": "ppgnn", "data": "town", "epsilon": 1.0, "mechanism": "ppm-printed", "runs": [0.5]}
    return json.dumps({**told, "mean": 0.5, "privacy": {**levels, "trust": "local"}, **fields})


@pytest.fixture
def left(tmp_path):
    """What earlier runs have left."""

    def add(*lines):
        statement = "INSERT INTO results (source, time, result) VALUES ('', '', ?)"
        change(tmp_path / "cache" / RESULTS, (statement, [(line,) for line in lines]))

    return add


def test_an_infinite_budget_is_written_out(page, call, left):
    left(infinite())
    assert "level ε = infinite" in page()[0]
    call("results --delete --yes --epsilon 1")
    call("run ppgnn --data town --epsilon 1 --mechanism ppm-printed --runs 1 --no-control", SMALL)
    assert "level ε = infinite" in page()[0]


def test_bad_records_are_counted_on_stderr_and_hide_no_other(page, left):
    much = infinite(privacy={"level": {"epsilon": "much"}})
    left(infinite(), '{"method": "base"', infinite(runs="many"), much, "[" * 10**5, infinite(seed=1))
    _, printed = page()
    assert printed.err.count("Warning: ") == 1
    assert f"{RESULTS}: 4 of 6 records are damaged and skipped" in printed.err
    assert "2 results" in printed.out


def test_a_bad_line_of_a_file_is_named_on_stderr(tmp_path, page):
    (tmp_path / "x.jsonl").write_text(f'{infinite()}\n{{"method"\n{infinite(runs="many")}\n')
    _, printed = page(f"{tmp_path / 'x.jsonl'} --no-energy")
    assert printed.err.count("Warning: ") == 2
    assert "line 3: skipped, no result (runs: " in printed.err


def test_a_file_that_is_no_database_is_one_line(tmp_path, refuses):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / RESULTS).write_text("something else " * 100)
    refuses([(f"report --out {tmp_path / 'x.html'}", f"{RESULTS} is no database: move it away")])


def test_a_method_that_is_not_known_here_costs_only_its_energy(page, left):
    left(infinite(method="elsewhere"))
    assert "elsewhere" in page("")[0]
