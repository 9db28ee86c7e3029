"""The notebook runs as it is stored, by a kernel of its own."""

import nbformat
from nbclient import NotebookClient

from tests.test_notebook import TOUR, WRITTEN


def test_the_tour_runs_and_draws(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    # The kernel would look for settings in the home folder.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    found = NotebookClient(
        nbformat.read(TOUR, as_version=4), timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in found.cells for output in cell.get("outputs", ())]
    drawn = [output for output in outputs if "image/svg+xml" in output.get("data", ())]
    assert len(drawn) == 2
    assert {file.name for file in tmp_path.iterdir()} >= WRITTEN
