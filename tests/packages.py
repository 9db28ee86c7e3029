"""Installed packages for tests: a folder with a module and the record that an installer leaves."""

import sys
from pathlib import Path


def install(folder: Path, monkeypatch, points: dict[str, dict[str, str]], code: str, name: str = "of-a-test"):
    """Put a package on the path of this process that offers these entry points, by group and name."""
    module = name.replace("-", "_") + "_module"
    # Another test may have imported a module of that name.
    sys.modules.pop(module, None)
    (folder / f"{module}.py").write_text(code)
    record = folder / f"{name.replace('-', '_')}-1.5.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n")
    lines = []
    for group, offered in points.items():
        lines += [f"[{group}]", *(f"{key} = {module}:{value}" for key, value in offered.items())]
    (record / "entry_points.txt").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(str(folder))
