"""Predictions of a graph that is too large for one file."""

from graphveil.cli import one_run


def test_an_interrupt_says_that_the_same_command_goes_on(tmp_path, monkeypatch, call):
    def compute_unit(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(one_run.scale, "compute_in_parts", compute_unit)
    monkeypatch.setattr(one_run, "large_shards", lambda data: "a large one")
    for _ in range(2):
        command = ["predict", "base", "--data", "town", "--epsilon", "4", "--out", str(tmp_path / "out")]
        assert "the same command goes on" in call(command, ends=130).err
