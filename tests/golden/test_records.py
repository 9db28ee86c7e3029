"""What commands print and write is what was recorded; on another processor, numbers may differ in their last digits."""

import json
import math
import os
import shutil
from pathlib import Path

import pytest

from tests.golden.commands import processor
from tests.golden.records import HERE, SESSIONS, needs, outcome, surface

# On another processor sums are rounded in another order, and some users change sides.
ELSEWHERE = 0.05


def same_shape(found, expected, path=""):
    """Fail where something other than a number differs, or a number differs by more than a processor explains."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), path
        for key in expected:
            same_shape(found[key], expected[key], f"{path}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), path
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            same_shape(one, other, f"{path}[{place}]")
    elif isinstance(expected, float) and not isinstance(found, bool):
        assert isinstance(found, int | float), path
        if path.rpartition(".")[2] in ("mean", "epsilon", "delta"):
            assert math.isclose(found, expected, abs_tol=ELSEWHERE), path
    elif not isinstance(expected, str):
        assert type(found) is type(expected), path


@pytest.mark.usefixtures("forget_outside", "own_cache")
@pytest.mark.parametrize("name", SESSIONS)
def test_commands_give_what_was_recorded(name, monkeypatch, tmp_path):
    if needs(name) and not os.environ.get("GRAPHVEIL_DATA"):
        pytest.skip(f"needs {needs(name)}.npz: set GRAPHVEIL_DATA")
    monkeypatch.setenv("COLUMNS", "120")
    folder = tmp_path / "out"
    folder.mkdir()
    kept = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    # As a file has it: without tuples, and with the same floats.
    found = json.loads(json.dumps(outcome(name, folder)))
    if kept["processor"] == processor():
        assert found == kept["calls"]
    else:
        same_shape(found, kept["calls"])


def test_every_command_option_and_name_is_still_there():
    recorded, found = json.loads((HERE / "surface.json").read_text(encoding="utf-8")), surface()
    for path, names in recorded.items():
        assert set(names) <= set(found.get(path, [])), path


def test_results_of_the_first_layout_open(own_cache, capsys):
    from graphveil.cli import status

    own_cache.mkdir()
    shutil.copy(Path(__file__).parent / "results-0.1.0.sqlite", own_cache / "results.sqlite")
    assert status(["results", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["results"]
    assert [each["method"] for each in told] == ["base", "lpgnn"]
    assert told[0]["gain"]["mean"] == pytest.approx(-0.029, abs=0.001)
    assert status(["compare", "1", "2", "--json"]) == 0
