import signal
import socket
import tempfile
from pathlib import Path

import pytest
import ray

from graphveil.errors import EngineError
from graphveil.experiments.engine import Engine
from graphveil.scale import ray_session
from graphveil.scale import ray_session as ray_reach
from graphveil.scale.ray_session import check_reachable


@pytest.fixture
def listener():
    """Something that listens and is no Ray."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_an_address_where_nobody_listens_is_refused_at_once(listener):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(
        EngineError, match=rf"no Ray can be reached at 127.0.0.1:{port} \(Connection refused\)"
    ):
        check_reachable(f"127.0.0.1:{port}")


def test_something_else_is_refused_after_a_while(listener, monkeypatch):
    monkeypatch.setattr(ray_reach, "REACH_SECONDS", 0.5)
    with pytest.raises(EngineError, match="something else answers there.*start one with `ray start --head`"):
        check_reachable(f"127.0.0.1:{listener}")


def tried(monkeypatch, code):
    """What is said where the process that tries does this instead."""
    monkeypatch.setattr(ray_reach, "TRY", code)
    with pytest.raises(EngineError) as raised:
        check_reachable("auto")
    return str(raised.value)


def test_what_ray_says_is_told_in_one_line_and_a_missing_token_is_named(monkeypatch):
    said = tried(monkeypatch, "print('No instance.\\nMore words'); raise SystemExit(1)")
    assert said.startswith("no Ray can be reached on this machine (No instance): start one")
    assert "More words" not in said and "or give engine ray" in said
    said = tried(monkeypatch, "import sys; sys.stderr.write('InvalidAuthToken'); sys.exit(1)")
    assert "asks for a token: set RAY_AUTH_MODE=token" in said


def test_a_ray_that_does_not_start_is_told_in_a_sentence(tmp_path, monkeypatch):
    def late(*_, **options):
        assert Path(options["_temp_dir"]).parent == tmp_path
        raise Exception("The current node timed out during startup. This could happen because\nof much")  # noqa: TRY002

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(ray_session, "LONGEST_FOLDER", 1000)
    monkeypatch.setattr(ray, "init", late)
    before = signal.getsignal(signal.SIGINT)
    told = r"did not start on this machine \(The current node timed out during startup\): it may be too busy"
    with pytest.raises(EngineError, match=told), Engine.of("ray").pool(1):
        pytest.fail("it started")
    assert signal.getsignal(signal.SIGINT) is before
    assert not list(tmp_path.iterdir())
