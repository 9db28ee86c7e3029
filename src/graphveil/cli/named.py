"""Files that commands write where none is named: called after the experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graphveil.experiments.runs.format import exact_text
from graphveil.experiments.specs.spec import Spec
from graphveil.methods.terms import record_fields
from graphveil.outside import plain_name

# What options are called in the name of a file.
SHORT = {
    "epsilon": "eps",
    "mechanism": "",
    "backbone": "",
    "task": "",
    "label_epsilon": "labels",
    "link_epsilon": "links",
    "norm_epsilon": "norms",
    "level_distribution": "by",
}


def default_file(spec: Spec, suffix: str = ".toml", budgets: Sequence[float] = ()) -> Path:
    """METHOD-DATA-epsE.toml in this folder, with whatever else is not as usual in its name; ``budgets`` where there are several.

    >>> str(default_file(Spec.of("base", "folder/my.npz", epsilon=0.5)))
    'base-my-eps0.5.toml'
    >>> str(default_file(Spec.of("base", "town", epsilon=1.0), ".svg", (1.0, 2.5)))
    'base-town-eps1_2.5.svg'
    """
    data = Path(spec.data).stem if spec.data.endswith(".npz") else plain_name(spec.data)
    plain, chosen = Spec(spec.method, spec.data), spec.chosen
    # What decides nothing here, and a file of levels by its name alone.
    unused = [*record_fields("machine"), *(("mechanism", "delta") if spec.budgets.epsilon is None else ())]
    if "level_distribution" in chosen:
        by = Path(chosen["level_distribution"]).stem
        unused += [] if spec.has_levels and by != "uniform" else ["level_distribution"]
        chosen["level_distribution"] = by
    told = {name: value for name, value in chosen.items() if name not in unused}
    first: dict[str, Any] = {name: told.pop(name) for name in ("epsilon", "mechanism") if name in told}
    first |= {"epsilon": tuple(budgets)} if budgets else {}
    for name in ("mechanism",):
        first |= {name: plain_name(first[name])} if name in first else {}
    own: dict[str, Any] = {name: getattr(spec, name) for name in ("backbone", "task")}
    first |= {name: plain_name(value) for name, value in own.items() if value != getattr(plain, name)}
    words = [f"-{SHORT.get(name, name)}{exact_text(value, '_')}" for name, value in {**first, **told}.items()]
    return Path(f"{plain_name(spec.method)}-{data}{''.join(words)}{suffix}")
