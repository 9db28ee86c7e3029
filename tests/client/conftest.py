"""Devices of tests keep their files in memory."""

from pathlib import Path

import pytest

from tests.client.support import fast_folder


@pytest.fixture
def folder():
    with fast_folder() as name:
        yield Path(name)
