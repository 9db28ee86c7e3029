"""Whole audits of every broken mechanism of tests/faults: the cause stays what is told first; their sound twins pass."""

import re
import runpy

import pytest

from graphveil.audit import audit
from graphveil.audit.candidate import load_mechanism
from graphveil.channels import SeededBits
from graphveil.cli import status
from tests.audit.test_faults import FAULTS
from tests.audit.test_size_faults import SIZED

TWINS = [path for path in FAULTS if re.search(r"^(def sound\(|sound = )", path.read_text(), re.MULTILINE)]


@pytest.mark.parametrize("path", FAULTS, ids=lambda path: path.stem)
def test_audit_catches_and_names_the_fault(path):
    fault = runpy.run_path(str(path))
    found = audit(
        load_mechanism(f"{path}:build"), quick=True, random_bits=SeededBits(1), **fault.get("SETTINGS", {})
    )
    assert not found.holds
    assert fault["CAUSE"] in found.leaks[0], found.leaks


@pytest.mark.parametrize("path", SIZED, ids=lambda path: path.stem)
def test_a_full_audit_catches_a_fault_of_some_sizes(path):
    found = audit(load_mechanism(f"{path}:build"), random_bits=SeededBits(1), minutes=60)
    # Some are seen in several ways, whichever comes first.
    assert found.leaks and not found.holds


@pytest.mark.statistical  # a false alarm in a hundred thousand; the seed is fixed
@pytest.mark.parametrize("path", TWINS, ids=lambda path: path.stem)
def test_audit_leaves_the_sound_twin_alone(path):
    settings = runpy.run_path(str(path)).get("SETTINGS", {})
    found = audit(load_mechanism(f"{path}:sound"), quick=True, random_bits=SeededBits(1), **settings)
    assert found.leaks == []


@pytest.mark.parametrize("name", ["undivided_budget", "nonzero_dimensions", "label_from_all"])
def test_command_exits_with_1(name, capsys):
    path = next(path for path in FAULTS if path.stem == name)
    assert status(["audit", f"{path}:build", "--quick", "--seed", "1"]) == 1
    assert "does not hold" in capsys.readouterr().out
