import json

import pytest

from graphveil.cli import status
from graphveil.experiments.store import RESULTS, change, select
from tests.cli.support import not_refused
from tests.cli.test_run import RUN

pytestmark = pytest.mark.usefixtures("own_cache")


def test_what_was_run_is_reported(tmp_path, capsys):
    out = tmp_path / "report.html"
    assert status([*RUN, "--no-control"]) == 0
    assert status([*RUN, "--no-control", "--epsilon", "4", "--runs", "1"]) == 0
    capsys.readouterr()
    assert status(["report", "--out", str(out), "--title", "Two runs", "--hops", "3"]) == 0
    printed = capsys.readouterr()
    assert printed.out == f"The report of 2 results is in {out}.\n"
    assert "energy of multibit on town" in printed.err
    html = out.read_text()
    assert "<title>Two runs</title>" in html
    assert html.count("<svg") == 2


def test_what_json_printed_is_reported(tmp_path, capsys):
    assert status([*RUN, "--no-control", "--json"]) == 0
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "one.json").write_text(capsys.readouterr().out)
    pages = []
    for given in (folder, folder / "one.json"):
        assert status(["report", str(given), "--out", str(tmp_path / "x.html"), "--no-energy"]) == 0
        pages.append((tmp_path / "x.html").read_text())
    assert pages[0] == pages[1]
    assert "1 result on 1 graph" in pages[0]


def test_a_run_keeps_its_result_in_the_cache(tmp_path):
    assert status([*RUN, "--no-control"]) == 0
    (((text,),),) = select(tmp_path / "cache" / RESULTS, "SELECT result FROM results", ())
    fields = json.loads(text)
    assert fields["spec"]["settings"]["epochs"] == 3
    assert fields["interrupted"] is False


MISTAKES = [
    ([], "no run has left a result"),
    (["nowhere.json"], "nowhere.json is not there"),
    (["--hops", "0"], "hops must be an integer of at least 1, got 0"),
    (["--out", "nowhere/report.html"], "nowhere is not a folder"),
    (["--out", "."], "is a folder: name a file in it"),
]


def test_a_mistake_exits_with_2_and_one_line(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert not_refused([(["report", *words], said) for words, said in MISTAKES], capsys) == []


def test_help_shows_an_example(capsys):
    assert status(["report", "--help"]) == 0
    assert "Example: graphveil report --out report.html" in capsys.readouterr().out


def infinite(**fields):
    """What a run with ppm-printed keeps: the level is not protected, and JSON has no infinite number."""
    spent = {
        "features": {"epsilon": 32.0, "delta": 0.0},
        "level": {"epsilon": None, "delta": 0.0},
        "trust": "local",
    }
    kept = {
        "method": "ppgnn",
        "data": "town",
        "epsilon": 1.0,
        "mechanism": "ppm-printed",
        "runs": [0.5],
        "mean": 0.5,
    }
    return json.dumps({**kept, "privacy": spent, **fields})


def kept(tmp_path, *lines):
    """What earlier runs have left."""
    add = "INSERT INTO results (source, time, result) VALUES ('', '', ?)"
    change(tmp_path / "cache" / RESULTS, (add, [(line,) for line in lines]))


def test_an_infinite_budget_is_written_out(tmp_path, capsys):
    kept(tmp_path, infinite())
    assert status(["report", "--out", str(tmp_path / "x.html"), "--no-energy"]) == 0
    assert "level ε = infinite" in (tmp_path / "x.html").read_text()


def test_bad_records_are_counted_on_stderr_and_hide_no_other(tmp_path, capsys):
    bad = [
        '{"method": "base"',
        infinite(runs="many"),
        infinite(privacy={"level": {"epsilon": "much"}}),
        "[" * 10**5,
    ]
    kept(tmp_path, infinite(), *bad, infinite(seed=1))
    assert status(["report", "--out", str(tmp_path / "x.html"), "--no-energy"]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("Warning: ") == 1
    assert f"{RESULTS}: 4 of 6 records are damaged and skipped" in printed.err
    assert "2 results" in printed.out


def test_a_bad_line_of_a_file_is_named_on_stderr(tmp_path, capsys):
    (tmp_path / "x.jsonl").write_text(f'{infinite()}\n{{"method"\n{infinite(runs="many")}\n')
    arguments = [str(tmp_path / "x.jsonl"), "--out", str(tmp_path / "x.html"), "--no-energy"]
    assert status(["report", *arguments]) == 0
    printed = capsys.readouterr()
    assert printed.err.count("Warning: ") == 2
    assert "line 3: skipped, no result (runs: " in printed.err


def test_a_file_that_is_no_database_is_one_line(tmp_path, capsys):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / RESULTS).write_text("something else " * 100)
    assert status(["report", "--out", str(tmp_path / "x.html")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{RESULTS} is no database: move it away" in line


def test_a_method_that_is_not_known_here_costs_only_its_energy(tmp_path):
    kept(tmp_path, infinite(method="elsewhere"))
    assert status(["report", "--out", str(tmp_path / "x.html")]) == 0
    assert "elsewhere" in (tmp_path / "x.html").read_text()


def test_a_run_without_protected_levels_can_be_reported(tmp_path):
    small = [
        "data.users=400",
        "data.features=16",
        "data.telling=4",
        "data.labelled=0.2",
        "data.validated=0.2",
        "epochs=2",
    ]
    told = [word for setting in small for word in ("--set", setting)]
    run = [
        "run",
        "ppgnn",
        "--data",
        "town",
        "--epsilon",
        "1",
        "--mechanism",
        "ppm-printed",
        "--runs",
        "1",
        "--no-control",
    ]
    assert status([*run, *told]) == 0
    assert status(["report", "--out", str(tmp_path / "x.html"), "--no-energy"]) == 0
    assert "level ε = infinite" in (tmp_path / "x.html").read_text()
