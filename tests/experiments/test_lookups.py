"""Names of an experiment are looked up once, and nothing that was looked up travels to another process."""

import os
import pickle
import subprocess
import sys

import pytest
from pydantic import TypeAdapter

from graphveil.errors import InputError
from graphveil.experiments import Experiment
from graphveil.experiments.runner import run_experiment
from graphveil.experiments.unit import RunUnit, run_unit
from graphveil.methods import METHODS


def small():
    return Experiment.of("base", "town", epsilon=1.0, settings={"epochs": 1, "data.users": 200})


@pytest.fixture
def asked(monkeypatch):
    """The names of methods that are looked up from the first call on."""
    found, find = [], METHODS.find

    def begin():
        monkeypatch.setattr(METHODS, "find", lambda name: found.append(name) or find(name))
        return found

    return begin


def test_a_unit_looks_its_method_up_once_and_so_does_a_whole_run(asked):
    spec, whole = small(), small()
    names = asked()
    run_unit(RunUnit(spec))
    assert names == ["base"]
    names.clear()
    result = run_experiment(whole)
    assert len(names) <= len(result.units)
    assert names.count("base") == 1


def test_another_process_gets_the_fields_alone():
    spec = small()
    _ = spec.resolved_settings
    assert spec.resolved_method is spec.resolved_method
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec and "resolved_method" not in vars(again)


def test_reading_an_experiment_back_runs_no_code(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text("raise SystemExit('this file was run')\n")
    stored = {"method": f"{file}:Mine", "data": f"{file}:few", "budgets": {"mechanism": f"{file}:Noise"}}
    assert TypeAdapter(Experiment).validate_python(stored).method == f"{file}:Mine"
    plain = TypeAdapter(Experiment).validate_python({"method": f"{file}:Mine", "data": "town"})
    assert Experiment(f"{file}:Mine", "town") == plain
    with pytest.raises(InputError, match="this file was run"):
        Experiment.of(f"{file}:Mine", "town")


def test_fields_that_are_not_given_are_the_methods_own_once_resolved():
    stored = Experiment("ppgnn", "town")
    assert (stored.backbone, stored.budgets.mechanism) == ("", "")
    whole = stored.resolved()
    assert whole == Experiment.of("ppgnn", "town") == whole.defaults
    assert whole.budgets.mechanism == whole.resolved_method.mechanism


# Files of ours whose code runs in a small experiment, once the command line is imported.
MOST_FILES = 64
COUNT = """
import sys
from pathlib import Path
import graphveil
from graphveil.cli import _command, status

_command("run")
ours, touched = str(Path(graphveil.__file__).parent), set()

def note(frame, event, _):
    if event == "call" and frame.f_code.co_name != "<module>" and frame.f_code.co_filename.startswith(ours):
        touched.add(frame.f_code.co_filename)

sys.setprofile(note)
code = status("run upgnet --data cora --epsilon 1 --runs 1 --set epochs=1 --json".split())
sys.setprofile(None)
print(len(touched), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.skipif(not os.environ.get("GRAPHVEIL_DATA"), reason="needs cora.npz: set GRAPHVEIL_DATA")
def test_a_small_run_touches_few_of_our_files(tmp_path, capsys):
    given = os.environ | {"GRAPHVEIL_CACHE": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", COUNT], env=given, capture_output=True, text=True, check=True
    )
    count = int(done.stderr.splitlines()[-1])
    with capsys.disabled():
        print(f"\n{count} files of ours run in a small experiment")
    assert count <= MOST_FILES
