"""Files of models: weights, questions with their reports, and settings. Reading one runs no code that is in it."""

from __future__ import annotations

import io
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from graphveil import learn
from graphveil.checks import check_whole
from graphveil.errors import GraphveilError, InputError
from graphveil.experiments.runs.model import Asked, Model, check_model
from graphveil.experiments.specs.spec import Spec
from graphveil.experiments.store.whole_file import write_whole
from graphveil.graphs.divide import MAX_CLASSES
from graphveil.graphs.graph import UNKNOWN, Graph
from graphveil.mechanisms import Reports
from graphveil.mechanisms.rows import PublicRange
from graphveil.methods.outcome import Trained
from graphveil.outside import is_reference, plain_name
from graphveil.privacy import Plan
from graphveil.version import __version__

SAVED = "name a file that gv.save has written"
FORMAT, SUFFIX = "graphveil-model-1", ".pt"
# What is raised where a file is something else, or does not fit itself.
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OverflowError, RecursionError)
ARRAYS = ("labels", "train", "validation", "test")


def save(model: Model, path: str | Path) -> None:
    """Write a model to a .pt file, which `load_model` brings back."""
    import torch

    file = Path(path)
    if file.suffix != SUFFIX or not file.parent.is_dir() or file.is_dir():
        raise InputError(
            f"{file} cannot be written: name a file that ends in {SUFFIX} in a folder that is there"
        )
    check_saved(model.spec)
    # The graph is not loaded again, so that its name serves as well as where it came from.
    spec = replace(model.spec, data=plain_name(model.spec.data))
    before = model.before
    public = before.public_range
    about = {
        "format": FORMAT,
        "version": __version__,
        "spec": asdict(spec),
        "seed": model.seed,
        "collected": model.collected,
        "factor": model.trained.factor,
        "columns": model.trained.columns,
        "plans": [each.plan.to_json() for each in model.asked],
        "fingerprints": [each.reports.mechanism.fingerprint for each in model.asked],
        "graph": {
            "name": before.name,
            "feature_count": before.feature_count,
            "range": None if public is None else [public.low, public.high],
            "binary": before.binary,
            "class_count": before.class_count,
            "metric": before.metric,
        },
    }
    content = {
        "about": json.dumps(about, default=str),
        "weights": dict(model.trained.weights),
        "arrays": {name: torch.from_numpy(np.array(getattr(before, name))) for name in ARRAYS},
        "reports": [_bytes(each.reports.to_bytes()) for each in model.asked],
        "answered": [
            None if (who := each.reports.answered) is None else torch.from_numpy(who.copy())
            for each in model.asked
        ],
    }
    buffer = io.BytesIO()
    torch.save(content, buffer)
    write_whole(file, buffer.getvalue())


def check_saved(spec: Spec) -> None:
    """Refuse a model that rests on code which no file of a model holds."""
    for name in (spec.method, spec.backbone, spec.budgets.mechanism):
        if is_reference(name):
            raise InputError(
                f"{name} is code of yours, which no file of a model holds: keep the model in memory, or run the method again"
            )


def load_model(path: str | Path) -> Model:
    """A model that `save` has written. Tensors and text alone are read: a file that holds anything else is refused."""
    file = Path(path)
    if not file.is_file():
        raise InputError(f"{file} is not there: {SAVED}")
    content = learn.read_tensors(file, "model", SAVED, "cpu")
    try:
        about = json.loads(content["about"])
        if about["format"] != FORMAT:
            raise ValueError(about["format"])
        _refuse_code(about["spec"])
        spec = TypeAdapter(Spec).validate_python(about["spec"])
        check_model(spec)
        return _model(spec, about, content)
    except (GraphveilError, ValidationError) as error:
        raise InputError(f"{file} holds no model that can be used: {str(error).splitlines()[0]}") from None
    except DAMAGED:
        raise InputError(f"{file} holds no model: {SAVED}") from None


def _refuse_code(spec: dict[str, Any]) -> None:
    """Refuse names by which code would be loaded, before anything looks for them."""
    budgets = spec["budgets"]
    names = [spec["method"], spec["backbone"], spec["data"], budgets["mechanism"], budgets["link_mechanism"]]
    for name in names:
        if is_reference(name):
            raise InputError(f"it names {name}, which is code: nothing that a file names is run")


def _model(spec: Spec, about: dict[str, Any], content: dict[str, Any]) -> Model:
    arrays = {name: content["arrays"][name].numpy() for name in ARRAYS}
    told, users = about["graph"], len(arrays["labels"])
    classes = check_whole(told["class_count"], "class_count", least=0, most=MAX_CLASSES)
    _check_arrays(arrays, users, classes)
    public = None if told["range"] is None else PublicRange.of(tuple(told["range"]))
    before = Graph(
        name=told["name"],
        indptr=np.zeros(users + 1, dtype=np.int64),
        indices=np.empty(0, dtype=np.int32),
        feature_count=check_whole(told["feature_count"], "feature_count", least=0),
        public_range=public,
        binary=bool(told["binary"]),
        class_count=classes,
        metric=told["metric"],
        **arrays,
    )
    asked = []
    for plan, message, who in zip(about["plans"], content["reports"], content["answered"], strict=True):
        whole = Plan.from_json(plan)
        reports = Reports.from_bytes(message.numpy().tobytes(), whole.build())
        asked.append(Asked(whole, _answered(reports, whole, who, users)))
    trained = Trained(dict(content["weights"]), float(about["factor"]), int(about["columns"]))
    # Files that say nothing of it are of a time when all reports were simulated.
    collected = bool(about.get("collected", False))
    return Model(spec, int(about["seed"]), trained, tuple(asked), before, collected)


def _check_arrays(arrays: dict[str, Any], users: int, classes: int) -> None:
    """Refuse labels that are no classes, and parts of a split that are not about the same users."""
    labels = arrays["labels"]
    if labels.dtype != np.int64 or labels.shape not in ((users,), (users, classes)):
        raise InputError(f"labels must be integers, one a user or {classes}")
    least, most = int(labels.min(initial=UNKNOWN)), int(labels.max(initial=UNKNOWN))
    if least < UNKNOWN or most >= (max(classes, 1) if labels.ndim == 1 else 2):
        raise InputError(f"labels must be those of {classes} classes, or {UNKNOWN}")
    for name in ARRAYS[1:]:
        if arrays[name].dtype != np.bool_ or arrays[name].shape != (users,):
            raise InputError(f"{name} must be True or False for each of {users} users")


def _answered(reports: Reports, plan: Plan, who: Any, users: int) -> Reports:
    """Reports of those of a plan's users who have answered; ``who`` is None where all have."""
    asked = users if plan.users == "all" else len(plan.users)
    if plan.users != "all" and max(plan.users, default=0) >= users:
        raise InputError(f"a plan asks users that are not among the {users} of the model")
    if who is not None:
        mask = who.numpy()
        if mask.dtype != np.bool_ or mask.shape != (asked,):
            raise InputError(f"who has answered must be True or False for each of {asked} users")
        reports = replace(reports, answered=mask)
    if reports.users != len(reports.places) or reports.asked != asked:
        raise InputError(f"a plan asks {asked} users, and there are {reports.users} reports")
    return reports


def _bytes(message: bytes) -> Any:
    import torch

    return torch.frombuffer(bytearray(message), dtype=torch.uint8)
