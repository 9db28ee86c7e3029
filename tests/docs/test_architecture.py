"""The drawing of the packages shows the imports that there are."""

import re
from pathlib import Path

import networkx

from tests.test_surface import SOURCE, imported_rooms

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"
PACKAGES = sorted(folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists())


def drawn() -> set[tuple[str, str]]:
    return set(re.findall(r"^ +(\w+) --> (\w+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def imports() -> networkx.DiGraph:
    """Which package imports which, without those that follow from others."""
    graph = networkx.DiGraph()
    for package in PACKAGES:
        graph.add_node(package)
        for file in (SOURCE / package).rglob("*.py"):
            graph.add_edges_from(
                (package, other) for other in imported_rooms(file, rooms=PACKAGES) - {package}
            )
    return networkx.transitive_reduction(graph)


def test_the_page_draws_the_imports_and_explains_every_package():
    assert drawn() == set(imports().edges)
    rows = re.findall(r"^\| `(\w+)` \|.*\| `(\w+\.py)` \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(name for name, _ in rows) == PACKAGES
    assert [name for name, file in rows if not (SOURCE / name / file).exists()] == []
