"""A Ray of one's own that does not start: a sentence, and nothing is left."""

import signal
import tempfile
from pathlib import Path

import pytest
import ray

from graphveil.errors import EngineError
from graphveil.experiments.engine import Engine
from graphveil.scale import ray_session


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
