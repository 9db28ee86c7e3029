"""What tests of several rooms start from: a cache and a folder of their own, files of Python, servers and processes.

Fixtures come to every test through `tests/conftest.py`; functions are imported.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
# Nobody waits so long unless something hangs.
PATIENCE = 240


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """The folder of results of one test alone; use it as `pytestmark = pytest.mark.usefixtures("own_cache")`."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(folder))
    return folder


@pytest.fixture
def own_folder(tmp_path, monkeypatch, own_cache):
    """The folder in which one test alone is, with its cache inside."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def python_file(tmp_path):
    """Writes code to a file of the test's folder, and gives its path."""

    def write(code, name="mine.py"):
        path = tmp_path / name
        path.write_text(code, encoding="utf-8")
        return path

    return write


@contextmanager
def serving(app, **settings):
    """Serve an application in a thread of this process at a port of its own; its address."""
    import uvicorn

    server = uvicorn.Server(uvicorn.Config(app, **{"port": 0, "log_level": "warning", **settings}))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + PATIENCE
        while not server.started:
            assert thread.is_alive() and time.monotonic() < until, "the server does not start"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def started(code, *arguments, **options):
    """A process of Python with pipes that runs code, in a session of its own; what is left of it in the end is killed."""
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "cwd": ROOT}
    words = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(words, start_new_session=True, **piped | options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def printed_by(code, *arguments, **options):
    """What a fresh process of Python prints that runs code; it must end well."""
    words = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=PATIENCE, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout
