"""The examples in the documents run as they are written."""

import re
import runpy
from pathlib import Path

import pytest

from graphveil.cli import status
from graphveil.experiments.measures import MEASURES
from graphveil.experiments.study import read_sweep
from graphveil.experiments.study_result import KINDS
from graphveil.mechanisms.registry import _entries
from graphveil.methods import check_method
from graphveil.methods.tasks import TASKS
from tests.together import together

ROOT = Path(__file__).parent.parent
EXAMPLES = [
    pytest.param(code, id=f"{name} {place}")
    for name in (
        "README.md",
        "CONTRIBUTING.md",
        "docs/attacks.md",
        "docs/python.md",
        "docs/shards.md",
        "docs/start.md",
    )
    for place, code in enumerate(re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL))
]


@pytest.mark.parametrize("code", EXAMPLES)
def test_an_example_runs_as_written(code, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "example.py"
    file.write_text(code)
    registries = (_entries, KINDS, MEASURES, TASKS)
    before = [dict(registry._items) for registry in registries]
    try:
        runpy.run_path(str(file))
    finally:
        for registry, items in zip(registries, before, strict=True):
            registry._items.clear()
            registry._items.update(items)
    assert capsys.readouterr().err == ""


# Commands of the first page take minutes as they are written; the demonstration has tests of its own.
SMALLER = {
    "run": ["--runs", "1", "--set", "data.users=400"],
    "predict": ["--set", "epochs=2"],
    "report": ["--no-energy"],
}


def test_the_commands_of_the_first_page_work_one_after_the_other(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs/start.md").read_text()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    *_, code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    Path("graph.py").write_text(code)
    runpy.run_path("graph.py")
    ran = []
    for line in re.findall(r"^    graphveil (.*)$", text, re.MULTILINE):
        command, *words = line.split()
        if command != "demo":
            assert status([command, *words, *SMALLER.get(command, ())]) == 0, line
            ran.append(command)
    assert ran == ["run", "results", "report", "predict"]
    assert (tmp_path / "mine.csv.json").exists() and (tmp_path / "report.html").exists()


def test_the_sweep_in_the_readme_can_be_run(tmp_path):
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    file = tmp_path / "example.toml"
    file.write_text(text)
    assert len(read_sweep(file).cells) == 8


@pytest.fixture
def own(tmp_path, monkeypatch, forget_outside):
    """A folder with the files that docs/methods.md shows."""
    text = (ROOT / "docs/methods.md").read_text()
    for name, code in zip(
        ("mine.py", "layers.py", "measures.py"),
        re.findall(r"```python\n(.*?)```", text, re.DOTALL),
        strict=True,
    ):
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))


def test_the_method_and_the_backbone_of_one_s_own_run_as_written(own, capsys):
    words = "run mine.py:Mine --backbone layers.py:Sums --data town --epsilon 2 --runs 1 --set epochs=2 --set data.users=400"
    assert status(words.split()) == 0
    assert "mine.py:Mine, multibit, ε = 2" in capsys.readouterr().out


def test_the_measure_of_one_s_own_is_the_value_of_a_sweep(own, capsys, tmp_path):
    axis = '[[axes]]\nfield = "epsilon"\nvalues = [1, 2]\n'
    base = '[base]\nmethod = "base"\ndata = "town"\n[base.settings]\nepochs = 2\ndata.users = 400\n'
    (tmp_path / "own.toml").write_text(f'measure = "measures.py:WORST"\n{base}{axis}')
    try:
        assert status(["sweep", "own.toml"]) == 0
    finally:
        MEASURES.forget("measures.py:WORST")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "own: accuracy of the worst run"
    assert lines[1].split() == ["ε", "base", "control"]


def test_the_method_of_one_s_own_passes_the_suite(own):
    check_method("mine.py:Mine", epochs=3)


def test_there_are_examples():
    assert len(EXAMPLES) >= 5


@together(
    "name",
    [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "docs/collection.md",
        "docs/engine.md",
        "docs/mechanisms.md",
        "docs/methods.md",
        "docs/python.md",
        "docs/shards.md",
        "docs/start.md",
        "docs/veil.md",
    ],
)
def test_a_link_to_a_file_leads_somewhere(name):
    folder = (ROOT / name).parent
    links = re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text())
    assert [link for link in links if not (folder / link).exists()] == []
