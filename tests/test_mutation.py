"""Mutants of a toy: each operator has its own, and a run tells those that its tests see from those that they do not."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.mutation import KILLED, NOT_COVERED, NOT_FOUND, SURVIVED, Mutant, changes, draw, is_another_program
from tests.together import together

ROOT = Path(__file__).parents[1]
FILE = "src/graphveil/channels/toy.py"
TOY = b'''"""A toy."""
LIMIT = 3


def clipped(value: "int | None", low=0):
    if not value < LIMIT and value is not None:
        return LIMIT
    if value == -7:
        raise ValueError(f"{value + 1} is one too many")
    notes = {}
    notes["seen"] = True
    notes.update(value=value)
    value += 0
    return value - low


def unused(value):
    return value * 2
'''
TESTS = """
import pytest
from graphveil.channels.toy import clipped

@pytest.mark.parametrize("value", [2, 3, 9])
def test_it_is_clipped(value):
    assert clipped(value) == min(value, 3)
"""


def operators(source):
    return Counter(mutant.operator for mutant in changes(FILE, source))


def after(line, operator, nth=0):
    """The line that a mutant leaves in the toy."""
    change = changes(FILE, TOY)[Mutant(FILE, line, operator, nth)]
    return change.applied(TOY).decode().splitlines()[change.lines[0] - 1].strip()


@together(
    ("line", "operator", "expected"),
    [
        ("LIMIT = 3", "constant: minus 1", "LIMIT = (3 - 1)"),
        (
            "if not value < LIMIT and value is not None:",
            "comparison: Lt to LtE",
            "if not (value <= LIMIT) and value is not None:",
        ),
        (
            "if not value < LIMIT and value is not None:",
            "comparison: IsNot to Is",
            "if not value < LIMIT and (value is None):",
        ),
        (
            "if not value < LIMIT and value is not None:",
            "boolean: removed not",
            "if (value < LIMIT) and value is not None:",
        ),
        (
            "if not value < LIMIT and value is not None:",
            "boolean: And to Or",
            "if (not value < LIMIT or value is not None):",
        ),
        ("if value == -7:", "boolean: negated condition", "if (not (value == -7)):"),
        ('raise ValueError(f"{value + 1} is one too many")', "statement: removed raise", "pass"),
        ("notes.update(value=value)", "statement: removed call", "pass"),
        ('notes["seen"] = True', "statement: removed assignment", "pass"),
        ('notes["seen"] = True', "boolean: negated constant", 'notes["seen"] = False'),
        ("value += 0", "statement: removed assignment", "pass"),
        ("return value - low", "arithmetic: Sub to Add", "return (value + low)"),
        ("return value - low", "return: None", "return None"),
    ],
)
def test_an_operator_changes_its_place(line, operator, expected):
    assert after(line, operator) == expected


def test_texts_types_and_documentation_are_left_alone():
    source = b'"""1 + 1"""\ndef f(x: "int | None" = None) -> int | None:\n    "2"\n    return f"{x + 1}"\n'
    assert operators(source) == {"return: None": 1}


def test_every_drawn_mutant_is_another_program(tmp_path):
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(TOY)
    found = changes(FILE, TOY)
    drawn = draw(tmp_path, found, 12, 0)
    assert len(set(drawn)) == 12 and drawn == draw(tmp_path, found, 12, 0) != draw(tmp_path, found, 12, 1)
    assert all(is_another_program(found[mutant].applied(TOY), TOY) for mutant in drawn)
    # Kinds of operators take turns.
    assert len({mutant.operator.partition(":")[0] for mutant in drawn[:6]}) == 6


def test_what_does_not_compile_and_what_changes_nothing_are_no_mutants():
    assert not is_another_program(b"x = ", b"x = 1")
    assert not is_another_program(b"x = (1)", b"x = 1")


def test_a_mutant_is_found_again_where_lines_have_moved():
    moved = b"# A line more.\n" + TOY.replace(
        b"def unused", b"def other(value):\n    return 1\n\n\ndef unused"
    )
    assert changes(FILE, TOY).keys() <= changes(FILE, moved).keys()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run over three mutants of the toy and one that there is not."""
    pytest.importorskip("coverage")
    project, folder = tmp_path_factory.mktemp("toy"), tmp_path_factory.mktemp("mutants")
    for name, content in {
        FILE: TOY.decode(),
        "src/graphveil/__init__.py": "",
        "src/graphveil/channels/__init__.py": "",
        "tests/channels/test_toy.py": TESTS,
        "pytest.ini": "[pytest]\naddopts = --import-mode=importlib\n",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(content)
    wanted = [
        Mutant(FILE, "return value - low", "return: None", 0),
        Mutant(FILE, "return value - low", "arithmetic: Sub to Add", 0),
        Mutant(FILE, "return value * 2", "constant: plus 1", 0),
        Mutant(FILE, "return nothing", "return: None", 0),
    ]
    (folder / "wanted").write_text("".join(json.dumps(vars(mutant)) + "\n" for mutant in wanted))
    run(project, folder)
    return project, folder


def run(project, folder):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    words = ["--tree", project, "--mutants", folder / "wanted", "--rooms", "channels", "--jobs", "1"]
    subprocess.run(
        [sys.executable, "-m", "tests.mutation", folder, *words],
        cwd=ROOT,
        # The toy needs no plugins, which take long to load.
        env={**os.environ, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=True,
        stdout=subprocess.PIPE,
        timeout=600,
    )


def test_what_tests_see_is_killed_and_what_they_do_not_survives(folder):
    _, kept = folder
    lines = [json.loads(line) for line in (kept / "results.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == [KILLED, SURVIVED, NOT_COVERED, NOT_FOUND]
    assert lines[0]["by"] == "tests/channels/test_toy.py::test_it_is_clipped[2]"
    assert lines[1]["ran"] == lines[1]["of"] == 1


def test_the_project_stays_as_it_was_and_its_page_counts(folder):
    project, kept = folder
    assert (project / FILE).read_bytes() == TOY
    page = (kept / "summary.md").read_text()
    assert "| channels | 1 | 0 | 1 | 1 | 1 | 33.3% |" in page
    assert "      + return (value + low)" in page


def test_what_was_tried_is_not_tried_again(folder):
    project, kept = folder
    before = (kept / "results.jsonl").read_bytes()
    run(project, kept)
    assert (kept / "results.jsonl").read_bytes() == before
