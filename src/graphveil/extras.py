"""What a missing library is called in pip's words: libraries that graphveil needs come in extras, and one sentence names the extra.

graphveil itself needs numpy and pydantic alone.
"""

from __future__ import annotations

# The modules that each extra brings; where several bring one, the first counts.
EXTRAS: dict[str, tuple[str, ...]] = {
    "cli": ("rich", "typer"),
    "device": ("cryptography",),
    "learn": (
        "matplotlib",
        "networkx",
        "numba",
        "optuna",
        "scipy",
        "sklearn",
        "threadpoolctl",
        "torch",
        "torch_geometric",
    ),
    "parquet": ("duckdb", "pyarrow"),
    "collect": ("alembic", "fastapi", "prometheus_client", "psycopg", "sqlalchemy", "uvicorn"),
    "ray": ("pymetis", "ray"),
}


def install_sentence(error: ModuleNotFoundError) -> str | None:
    """What to install, if a library of an extra is missing; None where it is anything else.

    >>> install_sentence(ModuleNotFoundError(name="torch.nn"))
    "this needs torch, which is not installed: pip install 'graphveil[learn]'"
    """
    module = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return f"this needs {module}, which is not installed: pip install 'graphveil[{extra}]'"
    return None
