"""The cells of the notebook run, and it is stored without what running it leaves behind; tests/slow runs it as a notebook."""

import re
import runpy
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parent.parent
TOUR = ROOT / "docs/tour.ipynb"
# What its cells write into the folder that they run in.
WRITTEN = {"score.svg", "confusion.svg", "mine.csv", "mine.csv.json", "mine.pt"}


@pytest.fixture(scope="module")
def tour():
    return nbformat.read(TOUR, as_version=4)


def test_the_cells_of_the_tour_run_one_after_the_other(tour, tmp_path, monkeypatch):
    monkeypatch.setenv("GRAPHVEIL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    cells = [cell.source for cell in tour.cells if cell.cell_type == "code"]
    (tmp_path / "tour.py").write_text("\n".join(cells), encoding="utf-8")
    runpy.run_path("tour.py")
    assert {file.name for file in tmp_path.iterdir()} >= WRITTEN


def test_the_tour_is_stored_without_outputs_and_without_a_trace_of_a_machine(tour):
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in tour.cells)
    assert set(tour.metadata) == {"kernelspec", "language_info"}
    assert tour.metadata.kernelspec == {"name": "python3", "display_name": "Python 3", "language": "python"}


def test_the_links_of_the_tour_lead_somewhere(tour):
    words = "".join(cell.source for cell in tour.cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)#:]+)", words)
    assert links and [link for link in links if not (TOUR.parent / link).exists()] == []
