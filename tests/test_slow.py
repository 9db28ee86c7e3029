"""The suite of what takes minutes: it runs in parts, goes on where it was, and writes what it showed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = {
    "test_first.py": """
import os
def test_a_number_is_shown(shows):
    shows(f"{41 + 1} users")
def test_it_breaks():
    assert "BREAKS" not in os.environ, "it is broken"
""",
    "test_second.py": "def test_it_holds(): pass\n",
}


@pytest.fixture
def project(tmp_path):
    """A project with two slow parts, one of which fails while BREAKS is set."""
    folder = tmp_path / "tests" / "slow"
    folder.mkdir(parents=True)
    (tmp_path / "constraints.txt").write_text("")
    shutil.copy(ROOT / "tests" / "slow" / "conftest.py", folder)
    for name, content in TESTS.items():
        (folder / name).write_text(content)
    return tmp_path


def run(project, *words, status=0, **environment):
    """What a run prints at its end, and the page it has written."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/slow", *words],
        cwd=project,
        # Plugins take long to load.
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == status, done.stdout + done.stderr
    page = (project / ".slow" / "summary.md").read_text()
    assert page in done.stdout
    return done.stdout.splitlines()[-1], page


def test_what_has_passed_is_not_run_again_with_the_same_source(project):
    said, page = run(project, status=1, BREAKS="1")
    assert said.startswith("1 failed, 2 passed")
    assert "| first | 1 | 1 | 0 | 0 | 0:00:00 |" in page
    assert "- passed, 0:00:00: a number is shown\n    - 42 users" in page
    assert "- failed, 0:00:00: it breaks\n    - AssertionError: it is broken" in page
    said, page = run(project)
    assert said.startswith("1 passed, 2 deselected")
    assert "| first | 2 | 0 | 0 | 0 | 0:00:00 |" in page and "42 users" in page
    said, _ = run(project)
    assert said.startswith("3 deselected")
    assert run(project, "--again")[0].startswith("3 passed")
    (project / "src").mkdir()
    (project / "src" / "changed.py").write_text("")
    assert run(project)[0].startswith("3 passed")


def test_one_part_runs_and_the_page_says_what_did_not(project):
    said, page = run(project, "--part", "second")
    assert said.startswith("1 passed, 2 deselected")
    assert "| first | 0 | 0 | 0 | 2 | 0:00:00 |\n| second | 1 | 0 | 0 | 0 | 0:00:00 |" in page
