"""The extras that optional libraries come in, and the sentence that names the extra of a missing one.

graphveil itself needs only numpy and pydantic.
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
    """Return a sentence that says what to install, or None if the missing module belongs to no extra.

    >>> install_sentence(ModuleNotFoundError(name="torch.nn"))
    "this needs torch, which is not installed: pip install 'graphveil[learn]'"
    """
    module = (error.name or "").partition(".")[0]
    for extra, modules in EXTRAS.items():
        if module in modules:
            return f"this needs {module}, which is not installed: pip install 'graphveil[{extra}]'"
    return None
