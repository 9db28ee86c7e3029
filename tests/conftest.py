"""Settings of all tests: hypothesis draws the same examples in every run, so a failure can be repeated."""

import gc
import os

# Before anything imports torch: tests run in several processes, and threads of theirs would only wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
from hypothesis import settings

settings.register_profile("graphveil", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("graphveil")


@pytest.fixture(autouse=True, scope="module")
def imported_once():
    """What is there before a module's tests, torch above all, is not searched for garbage again and again."""
    gc.collect()
    gc.freeze()
