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


def test_a_unit_looks_its_method_up_once(monkeypatch):
    asked, find = [], METHODS.find
    spec = small()
    monkeypatch.setattr(METHODS, "find", lambda name: asked.append(name) or find(name))
    run_unit(RunUnit(spec))
    assert asked == ["base"]


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
    assert Experiment(f"{file}:Mine", "town") == TypeAdapter(Experiment).validate_python(
        {"method": f"{file}:Mine", "data": "town"}
    )
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
from graphveil.cli import status

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


def test_a_whole_run_looks_no_method_up_more_than_once_a_unit(monkeypatch):
    asked, find = [], METHODS.find
    experiment = small()
    monkeypatch.setattr(METHODS, "find", lambda name: asked.append(name) or find(name))
    result = run_experiment(experiment)
    assert len(asked) <= len(result.units)
    assert asked.count("base") == 1
