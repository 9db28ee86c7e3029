"""A result as a folder: predictions and embeddings by external id, the questions, models that were trained or sent, and the card."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.collect.card import MODEL_FILE, card_page
from graphveil.collect.study import StudyOutcome
from graphveil.errors import InputError
from graphveil.experiments.artefacts import (
    CSV,
    EMBEDDING,
    PARQUET,
    Columns,
    calibrated_rows,
    matrix_columns,
    parts_of_split,
    write_artefact,
)
from graphveil.experiments.model import save
from graphveil.experiments.unit import predicted_classes
from graphveil.files import write_whole

PREDICTIONS, EMBEDDINGS, CARD = "predictions", "embeddings", "card"


def check_folder(folder: Path) -> Path:
    """Refuse, before anything is computed, a folder that cannot be written to; it is made where it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made ({error.strerror}): name another folder") from None
    return folder


def write_result(
    folder: Path,
    learned: StudyOutcome,
    card: dict[str, Any],
    ids: NDArray[Any],
    names: Sequence[str] | None = None,
) -> list[str]:
    """Write everything; the names of the files in the order in which they were written, the card last.

    ``names`` are what the operator calls the classes, where they have names.
    """
    written: list[str] = []

    def write(name: str, data: bytes) -> None:
        write_whole(folder / name, data)
        written.append(name)

    def table(name: str, columns: Columns, about: dict[str, Any]) -> None:
        for suffix in (PARQUET, CSV) if find_spec("pyarrow") is not None else (CSV,):
            write_artefact(folder / f"{name}{suffix}", columns, about, record=True)
            written.append(f"{name}{suffix}")

    if learned.outcome.scores is not None:
        columns, calibration = prediction_columns(learned, ids, names)
        table(PREDICTIONS, columns, {**card, "calibration": calibration})
    if learned.outcome.embedding is not None:
        table(EMBEDDINGS, embedding_columns(learned, ids), card)
    if learned.model is not None:
        save(learned.model, folder / MODEL_FILE)
        written.append(MODEL_FILE)
    for each in {one.round.number: one.round for one in learned.replayed}.values():
        write(f"round-{each.number}.json", each.plan.to_json().encode())
        if each.plan.model is not None:
            write(f"model-{each.number}.json", _json(each.plan.model.as_dict()))
    write(f"{CARD}.html", card_page(card).encode())
    write(f"{CARD}.json", _json(card))
    return written


def prediction_columns(
    learned: StudyOutcome, ids: NDArray[Any], names: Sequence[str] | None = None
) -> tuple[Columns, str]:
    """A class with its probability for every user, and whether a probability is as sure as it is right."""
    graph, outcome = learned.graph, learned.outcome
    private = learned.spec.budgets.private_labels
    rows, calibration = calibrated_rows(outcome, graph, private_labels=private)
    classes = predicted_classes(outcome, graph)
    columns: Columns = {"user": np.arange(graph.node_count), "id": ids, "part": parts_of_split(graph)}
    columns["class"] = classes
    if names is not None:
        columns["label"] = class_labels(classes, names)
    columns |= {"probability": rows[np.arange(len(rows)), classes].astype(np.float32)}
    return columns | matrix_columns("p", rows.astype(np.float32)), calibration


def class_labels(classes: NDArray[np.int64], names: Sequence[str]) -> NDArray[np.str_]:
    """Classes in the operator's own words; empty where a class has none.

    >>> class_labels(np.array([1, 0, 2]), ["chess", "football"]).tolist()
    ['football', 'chess', '']
    """
    return np.array([names[each] if each < len(names) else "" for each in classes.tolist()], dtype=np.str_)


def embedding_columns(learned: StudyOutcome, ids: NDArray[Any]) -> Columns:
    """What was learned of every user on the way, a row of numbers each."""
    values = learned.outcome.embedding
    assert values is not None
    columns: Columns = {"user": np.arange(len(values)), "id": ids}
    return columns | matrix_columns(EMBEDDING, values)


def _json(told: dict[str, Any]) -> bytes:
    return (json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
