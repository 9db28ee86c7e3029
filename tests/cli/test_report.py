import json
import subprocess
import sys

import pytest

from graphveil.cli import status
from tests.cli.test_run import RUN


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))


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
    (line,) = (tmp_path / "cache" / "results.jsonl").read_text().splitlines()
    fields = json.loads(line)
    assert fields["spec"]["settings"]["epochs"] == 3
    assert fields["interrupted"] is False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no run has left a result"),
        (["nowhere.json"], "nowhere.json is not there"),
        (["--hops", "0"], "hops must be at least 1, got 0"),
        (["--out", "nowhere/report.html"], "nowhere is not a folder"),
        (["--out", "."], "is a folder: name a file in it"),
    ],
)
def test_a_mistake_exits_with_2_and_one_line(arguments, words, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert status(["report", *arguments]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert len(err.splitlines()) == 1


def test_help_shows_an_example(capsys):
    assert status(["report", "--help"]) == 0
    assert "Example: graphveil report --out report.html" in capsys.readouterr().out


def test_arguments_are_checked_before_torch_is_imported():
    code = (
        "import sys; from graphveil.cli import status; status(['report', 'nowhere.json']); "
        "print('torch' in sys.modules, 'matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False"
