"""tests/quick.txt, which `make test-quick` runs, has some tests of every room, and each of them is there."""

import ast
from pathlib import Path

from tests.together import together

ROOT = Path(__file__).parents[1]
CHOSEN = (ROOT / "tests" / "quick.txt").read_text(encoding="utf-8").splitlines()
ROOMS = sorted(path.parent.name for path in (ROOT / "src" / "graphveil").glob("*/__init__.py"))


@together("room", ROOMS)
def test_a_room_has_some_quick_tests(room):
    assert any(line.startswith(f"tests/{room}/") for line in CHOSEN)


def test_every_chosen_test_is_there_and_none_is_there_twice():
    for line in CHOSEN:
        file, _, name = line.partition("::")
        functions = {
            node.name for node in ast.parse((ROOT / file).read_text("utf-8")).body if hasattr(node, "name")
        }
        assert not name or name.partition("[")[0] in functions, line
        assert not name or file not in CHOSEN, line
    assert len(set(CHOSEN)) == len(CHOSEN)
