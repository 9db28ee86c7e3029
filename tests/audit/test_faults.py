"""The audit catches every broken mechanism of tests/faults, and names its cause first.

Here an audit ends with the step that finds the cause. In tests/slow it goes on, and no later step may hide what was found; the
sound twins of the faults are audited there too.
"""

import runpy
from pathlib import Path

import pytest

from graphveil.audit import audit
from graphveil.audit.candidate import load_mechanism
from graphveil.channels import SeededBits
from graphveil.cli import status
from tests.audits import end_when_found, leave_out_draws

ALL = sorted((Path(__file__).parent.parent / "faults").glob("*.py"))


def of_size(path):
    """Whether a fault shows only at a size or in a call of its own: test_size_faults looks there."""
    return any(f"\n{where} = " in path.read_text() for where in ("SIZE", "CALLS"))


FAULTS = [path for path in ALL if not of_size(path)]


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_audit_catches_and_names_the_fault(path, monkeypatch):
    fault = runpy.run_path(str(path))
    if not fault.get("DRAWN", True):
        leave_out_draws(monkeypatch)
    end_when_found(fault["CAUSE"], monkeypatch)
    found = audit(
        load_mechanism(f"{path}:build"), quick=True, random_bits=SeededBits(1), **fault.get("SETTINGS", {})
    )
    assert not found.holds
    assert fault["CAUSE"] in found.leaks[0], found.leaks


def test_command_exits_with_1(capsys):
    path = next(path for path in FAULTS if path.stem == "undivided_budget")
    assert status(["audit", f"{path}:build", "--quick", "--seed", "1"]) == 1
    assert "does not hold" in capsys.readouterr().out
