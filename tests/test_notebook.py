"""The notebook runs as it is stored, and is stored without what running it leaves behind."""

import re
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parent.parent
TOUR = ROOT / "docs/tour.ipynb"


@pytest.fixture(scope="module")
def tour():
    return nbformat.read(TOUR, as_version=4)


def test_the_tour_runs_and_draws(tour, tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    # The kernel would look for settings in the home folder.
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    found = NotebookClient(
        deepcopy(tour), timeout=300, resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [output for cell in found.cells for output in cell.get("outputs", ())]
    drawn = [output for output in outputs if "image/svg+xml" in output.get("data", ())]
    assert len(drawn) == 2
    assert {"score.svg", "confusion.svg", "mine.csv", "mine.csv.json", "mine.pt"} <= {
        file.name for file in tmp_path.iterdir()
    }


def test_the_tour_is_stored_without_outputs_and_without_a_trace_of_a_machine(tour):
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in tour.cells)
    assert set(tour.metadata) == {"kernelspec", "language_info"}
    assert tour.metadata.kernelspec == {"name": "python3", "display_name": "Python 3", "language": "python"}


def test_the_links_of_the_tour_lead_somewhere(tour):
    words = "".join(cell.source for cell in tour.cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)#:]+)", words)
    assert links and [link for link in links if not (TOUR.parent / link).exists()] == []
