"""A folder of results for one test alone, and lines of them."""

import pytest

from docs import results_file
from docs.results_file import COLUMNS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results_file, "FOLDER", tmp_path)
    return tmp_path


def line(**given):
    return {**dict.fromkeys(COLUMNS, ""), **given}
