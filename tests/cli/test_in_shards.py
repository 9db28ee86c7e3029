"""Predictions of a graph that is too large for one file."""

import importlib

import pytest
import typer

from graphveil.engine.engine import HERE
from graphveil.experiments.experiment import Experiment

# The command has the name of its module and hides it.
in_shards = importlib.import_module("graphveil.cli.predict")


def test_an_interrupt_says_that_the_same_command_goes_on(tmp_path, monkeypatch, capsys):
    def compute_unit(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(in_shards, "compute_unit", compute_unit)
    monkeypatch.setattr(in_shards, "large_shards", lambda data: "a large one")
    spec = Experiment.of("base", "town", epsilon=4.0)
    for _ in range(2):
        with pytest.raises(typer.Exit) as ended:
            in_shards.written_in_shards(spec, "predictions", tmp_path / "out", HERE, as_json=False)
        assert ended.value.exit_code == 130
        assert "the same command goes on" in capsys.readouterr().err
