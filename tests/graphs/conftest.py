from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Places:
    data: Path
    cache: Path


@pytest.fixture
def places(tmp_path, monkeypatch):
    """An empty data folder and an empty cache, which everything in the test uses."""
    found = Places(tmp_path / "data", tmp_path / "cache")
    found.data.mkdir()
    monkeypatch.setenv("GRAPHVEIL_DATA", str(found.data))
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(found.cache))
    return found
