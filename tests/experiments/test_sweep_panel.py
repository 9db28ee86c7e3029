"""Sweeps over the number of volunteers."""

from pathlib import Path

import pytest

from graphveil.cli import status

pytestmark = pytest.mark.usefixtures("forget_outside")

METHOD = f"{Path(__file__).parents[1] / 'volunteering.py'}:Volunteering"


def test_a_sweep_over_volunteers_shows_what_they_are_worth_alone(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    file, drawn = tmp_path / "panels.toml", tmp_path / "panels.svg"
    file.write_text(
        f'title = "Volunteers"\n[base]\nmethod = "{METHOD}"\ndata = "town"\nepsilon = 2.0\nruns = 2\n'
        "[base.data_options]\nusers = 400\nlabelled = 0.2\n"
        '[[axes]]\nfield = "panel"\nvalues = [3, 6]\n'
    )
    assert status(["sweep", str(file), "--out", str(drawn)]) == 0
    assert "volunteers alone" in capsys.readouterr().out
    assert drawn.stat().st_size > 0
