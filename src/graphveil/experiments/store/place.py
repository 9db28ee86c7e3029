"""Where results are kept."""

from __future__ import annotations

from pathlib import Path

from graphveil.experiments.store.database import RESULTS
from graphveil.settings import settings


def results_file() -> Path:
    """The file that all commands, and all calls from Python, keep their results in."""
    return settings().cache / RESULTS
