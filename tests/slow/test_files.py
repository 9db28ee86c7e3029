"""The whole campaign of damaged files."""

import pytest

import graphveil as gv
from tests.adversary.test_files import KINDS, failures


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_read_or_refused(kind, tmp_path):
    assert failures(kind, tmp_path, gv.load("town", users=160), 3000, seed=1) == []
