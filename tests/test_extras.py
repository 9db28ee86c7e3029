"""What is said where a library is missing: the libraries are hidden from a process of its own."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import graphveil
from graphveil.extras import EXTRAS, install_sentence
from tests.together import together

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Distributions whose module has another name.
MODULES = {"scikit-learn": "sklearn", "prometheus-client": "prometheus_client"}
HIDE = """
import sys

hidden = {hidden!r}

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in hidden:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""
ALL = """
import contextlib, io, json
from graphveil.cli import status

def outcome(words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            ended = status(words)
        except ModuleNotFoundError as error:
            ended = str(error)
    return ended, out.getvalue(), err.getvalue()

print(json.dumps([outcome(words.split()) for words in json.loads(sys.argv[1])]))
"""
WORKING = [
    "--help",
    "mechanisms",
    "methods",
    "audit onebit --epsilon 1 --quick",
    "run --help",
    "advise --help",
    "advise budget --help",
    "attack",
    "sweep",
    "data list",
    "results",
]
LEARNING = [
    "run base --data town --epsilon 1",
    "tune base --data town --epsilon 1",
    "attributes --data town --epsilon 1",
    "attack attribute --data town --epsilon 1",
    "advise levels --data town --epsilon 1",
    "advise budget --data town",
    "demo",
]
COLLECTING = "collect status nowhere"


def hidden_run(
    hidden: set[str], code: str, *arguments: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDE.format(hidden=hidden) + code, *arguments]
    environment = {
        "GRAPHVEIL_CACHE": str(folder),
        "PYTHONPATH": str(Path(graphveil.__file__).parents[1]),
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=folder)


def test_the_modules_of_each_extra_are_those_of_the_project():
    for extra, modules in EXTRAS.items():
        wanted = PROJECT["project"]["optional-dependencies"][extra]
        names = [re.split(r"[\[<>=]", each)[0] for each in wanted]
        own = {MODULES.get(name, name) for name in names if name != "graphveil"}
        assert own == set(modules), extra


def test_a_module_of_no_extra_is_none_of_ours():
    assert install_sentence(ModuleNotFoundError(name="pandas")) is None
    assert install_sentence(ModuleNotFoundError("without a name")) is None


def test_the_version_stands_in_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/graphveil/version.py"


# One process: what is missing is there for the next, since nothing that was found before needs it.
MISSING = """
import contextlib, io, json, sys
from graphveil.__main__ import main

def outcome(missing):
    hidden.clear()
    hidden.add(missing)
    sys.argv[1:] = ["results"]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            return ended.code, out.getvalue(), err.getvalue()
        except ModuleNotFoundError as error:
            return type(error).__name__, str(error), err.getvalue()

print(json.dumps({missing: outcome(missing) for missing in ("typer", "rich", "sqlite3")}))
"""


@pytest.fixture(scope="module")
def without(tmp_path_factory):
    """What the command comes to without a library."""
    done = hidden_run(set(), MISSING, folder=tmp_path_factory.mktemp("missing"))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_command_line_s_libraries_one_sentence_names_them(missing, without):
    said = f"Error: this needs {missing}, which is not installed: pip install 'graphveil[cli]'\n"
    assert without[missing] == [2, "", said]


def test_an_error_that_no_extra_mends_is_not_hidden(without):
    ended, _, said = without["sqlite3"]
    assert ended == 1 and said.endswith("ModuleNotFoundError: No module named 'sqlite3'\n")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What commands come to where the command line alone is installed."""
    hidden = {module for extra, modules in EXTRAS.items() if extra != "cli" for module in modules}
    commands = [*WORKING, *LEARNING, COLLECTING]
    folder = tmp_path_factory.mktemp("cli")
    done = hidden_run(hidden, ALL, json.dumps(commands), folder=folder)
    assert done.returncode == 0, done.stderr
    return dict(zip(commands, json.loads(done.stdout), strict=True))


@together("command", WORKING)
def test_the_command_line_alone_lists_audits_and_helps(command, outcomes):
    ended, out, err = outcomes[command]
    assert ended == 0 and (out + err).strip() and "Error" not in err


@together("command", LEARNING)
def test_what_learns_names_the_extra_in_one_sentence(command, outcomes):
    ended, out, err = outcomes[command]
    assert (ended, out) == (2, "")
    assert re.fullmatch(
        r"Error: this needs \w+, which is not installed: pip install 'graphveil\[learn\]'", err.strip()
    )


def test_what_collects_names_its_own_extra(outcomes):
    ended, out, err = outcomes[COLLECTING]
    assert (ended, out) == (2, "")
    assert re.fullmatch(
        r"Error: this needs \w+, which is not installed: pip install 'graphveil\[(collect|device)\]'",
        err.strip(),
    )
