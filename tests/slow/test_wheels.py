"""The wheel, built and tried in a clean virtual environment for each extra."""

import subprocess
import sys
import venv
from pathlib import Path, PurePath
from zipfile import ZipFile

import pytest

from graphveil.extras import EXTRAS
from graphveil.version import __version__

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
SENTENCE = "which is not installed: pip install 'graphveil[{}]'"
ANSWER = """
import numpy as np, graphveil as gv
plan = gv.Plan(mechanism="multibit", epsilon=1.0, dims=4, range=(0, 1))
reports = gv.answer(plan, np.eye(4), gv.Ledger(users=4, epsilon=1.0))
print(reports.users, gv.__version__)
"""
LEARN = [
    "run",
    "base",
    "--data",
    "town",
    "--epsilon",
    "2",
    "--runs",
    "1",
    "--set",
    "epochs=2",
    "--set",
    "data.users=200",
    "--json",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT], check=True)
    (file,) = folder.glob("*.whl")
    assert file.name.startswith(f"graphveil-{__version__}-")
    return file


def test_the_wheel_holds_every_file_of_the_package(wheel):
    """Migrations, tables of sweeps and papers, measured gains and the mark of types too, and nothing that is not in the package."""
    folder = ROOT / "src"
    files = {
        file.relative_to(folder).as_posix()
        for file in (folder / "graphveil").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    with ZipFile(wheel) as content:
        held = {name for name in content.namelist() if ".dist-info/" not in name}
    assert held == files
    assert {"graphveil/collect/migrations/versions/first.py", "graphveil/py.typed"} < files
    assert {PurePath(name).suffix for name in files} == {".py", ".toml", ".csv", ".typed"}


class Environment:
    """A virtual environment with the wheel and one extra in it, and nothing of this project's folder."""

    def __init__(self, folder: Path, wheel: Path, extra: str) -> None:
        venv.create(folder / "venv", with_pip=True)
        self.folder, self.bin = folder, folder / "venv" / "bin"
        wanted = f"graphveil[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
        self.run("python", "-m", "pip", "install", "--quiet", "-c", str(CONSTRAINTS), wanted)

    def run(self, command: str, *words: str, status: int = 0) -> tuple[str, str]:
        """What a command says on both streams; its status is as it should be."""
        done = subprocess.run(
            [self.bin / command, *words],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "GRAPHVEIL_CACHE": str(self.folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout, done.stderr

    def has(self, module: str) -> bool:
        found, _ = self.run(
            "python", "-c", f"import importlib.util as u; print(u.find_spec({module!r}) is not None)"
        )
        return found.strip() == "True"


@pytest.fixture(scope="module", params=["", *EXTRAS], ids=lambda extra: extra or "base")
def installed(request, wheel, tmp_path_factory):
    return request.param, Environment(tmp_path_factory.mktemp("environment"), wheel, request.param)


def test_an_environment_with_one_extra(installed):
    extra, environment = installed
    out, _ = environment.run("python", "-c", ANSWER)
    assert out.split() == ["4", __version__]
    for module in EXTRAS.get(extra, ()):
        assert environment.has(module), module
    if not environment.has("typer"):
        _, err = environment.run("graphveil", "mechanisms", status=2)
        assert err.startswith("Error: ") and SENTENCE.format("cli") in err
        return
    out, _ = environment.run("graphveil", "--version")
    assert out == f"graphveil {__version__}\n"
    out, _ = environment.run("graphveil", "audit", "multibit", "--epsilon", "1", "--quick")
    assert "The claim of multibit holds" in out
    environment.run("graphveil", "mechanisms")
    environment.run("graphveil", "methods")
    environment.run("graphveil", "advise", "budget", "--help")
    if environment.has("torch"):
        out, _ = environment.run("graphveil", *LEARN)
        assert '"runs"' in out
        return
    _, err = environment.run("graphveil", *LEARN, status=2)
    assert SENTENCE.format("learn") in err


def test_the_smallest_extras_bring_nothing_heavy(installed):
    extra, environment = installed
    heavy = [module for module in ("torch", "scipy", "matplotlib") if environment.has(module)]
    assert bool(heavy) == (extra in ("learn", "collect"))
