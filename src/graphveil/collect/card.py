"""Results of a collection as a folder: predictions and embeddings by external id, questions, models, card.

The card says what was collected, at which ε, from how many, and what it was worth beside control and structure.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.audit.findings import exact_epsilon
from graphveil.channels.channel import digest
from graphveil.collect.folder import CollectionSettings
from graphveil.collect.learning import Replayed
from graphveil.collect.study import StudyOutcome
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
from graphveil.experiments.experiment import Part
from graphveil.experiments.model import save
from graphveil.experiments.page import Section, page
from graphveil.experiments.table import Table
from graphveil.experiments.unit import predicted_classes
from graphveil.files import write_whole
from graphveil.number_format import counted, percent
from graphveil.privacy.record import number
from graphveil.version import __version__

FORMAT = "graphveil-card-1"
# 95 of 100 means of many numbers lie within so many standard errors.
NORMAL = 1.96
# The file of the trained model beside the card, where there is one.
MODEL_FILE = "model.pt"
PREDICTIONS, EMBEDDINGS, CARD = "predictions", "embeddings", "card"
# What stands beside the method, as a sentence calls it.
BESIDE: dict[Part, str] = {
    "control": "blinded reports of the same people",
    "structure": "graph and known labels alone",
    "unasked": "volunteers' rows alone",
}
ABOUT_MODEL = (
    "holds what was trained, with the questions, the reports that it was learned from, and known labels. "
    "gv.load_model reads it, and its predict takes the graph as it is, or one that has grown: those who joined are asked the same questions, and "
    "nobody is asked again."
)
CARE = (
    "Keep it as you keep reports. If somebody who is in the result is forgotten, delete it and learn again."
)
ABOUT_NAMES = "Anyone who holds a plan can compute these again. If somebody who is in the result is forgotten, the collection marks it."
ABOUT_CONTROL = (
    "The control is drawn by the server itself: blinded reports, which carry nothing, for exactly those who answered. An interval "
    "says how much a gain depends on who was held out; the noise was drawn once."
)
# How the page calls them.
NAMES = {"control": "control", "structure": "structure", "unasked": "volunteers alone"}


def result_card(learned: StudyOutcome, collection: CollectionSettings) -> dict[str, Any]:
    """Everything that is known of a result besides the result itself, as JSON has it."""
    spec, graph, scores = learned.spec, learned.graph, learned.scores
    privacy = learned.privacy()
    spent = learned.books.total()
    gains = {part: _gain(learned, part) for part in BESIDE if part in scores}
    return {
        "format": FORMAT,
        "collection": collection.id,
        "purpose": collection.purpose,
        "study": learned.study,
        "method": spec.method,
        "task": spec.task,
        "metric": spec.resolved_task.metric(graph),
        "epsilon": spec.budgets.epsilon,
        "mechanism": spec.budgets.mechanism if spec.resolved_method.can.asks else None,
        "backbone": spec.backbone,
        "seed": spec.seed,
        "settings": {key: str(value) for key, value in spec.resolved_settings.model_dump().items()},
        "version": __version__,
        "detail": learned.outcome.detail,
        "model": None if learned.model is None else MODEL_FILE,
        "scores": dict(scores),
        "gains": gains,
        "verdict": verdict(gains, int(graph.test.sum())),
        "labels": {
            "train": int(graph.train.sum()),
            "validation": int(graph.validation.sum()),
            "held_out": int(graph.test.sum()),
            "reported": spec.budgets.private_labels,
        },
        "users": graph.node_count,
        "enrolled": learned.enrolled,
        "asked": int(learned.ledger.ever_asked.sum()),
        "answered": len(learned.answered),
        "volunteers": 0 if learned.volunteers is None else len(learned.volunteers),
        "panel": learned.volunteers is not None,
        "rounds": sorted({each.round.number for each in learned.replayed}),
        "questions": [_question(each) for each in learned.replayed],
        "privacy": privacy.to_dict(),
        "statement": privacy.sentence,
        "collection_spent": {"epsilon": spent.epsilon, "delta": spent.delta},
        "contributors": digest(learned.contributors),
    }


def verdict(gains: dict[Part, dict[str, float | None] | None], held_out: int) -> str:
    """Return, in one sentence, how much the reports were worth."""
    told = {part: gain for part, gain in gains.items() if gain is not None}
    if not told:
        return "What reports were worth is not known: nothing was held out to measure it."
    parts = [
        f"{_points(gain['mean'])} points over {BESIDE[part]}{_interval(gain)}" for part, gain in told.items()
    ]
    clear = all((gain["low"] or 0.0) > 0 for gain in told.values())
    start = "Reports were worth" if clear else "Reports were not clearly worth anything:"
    return f"{start} {', '.join(parts)}; one run, scored on {counted(held_out, 'held-out user')}."


def _interval(gain: dict[str, float | None]) -> str:
    if gain["low"] is None:
        return ""
    return f" ({_points(gain['low'])} to {_points(gain['high'])})"


def _points(share: float | None) -> str:
    return f"{100 * (share or 0.0):+.1f}"


def _question(replayed: Replayed) -> dict[str, Any]:
    """One question: what was asked, by what, at which exact ε, of how many."""
    each = replayed.round
    plan, built = each.plan, each.plan.build()
    exact = built.epsilon if built.finite and math.isfinite(built.epsilon) else None
    return {
        "round": each.number,
        "subject": plan.subject,
        "of": plan.of,
        "mechanism": plan.mechanism,
        "epsilon": plan.claim.epsilon,
        "delta": plan.claim.delta,
        "exact": exact,
        "asked": len(each.asked),
        "answered": replayed.reports.users,
        "as_asked": plan == replayed.plan,
        "digest": each.digest,
        "fingerprint": built.fingerprint,
    }


def _gain(learned: StudyOutcome, part: Part) -> dict[str, float | None] | None:
    """Return how much better the method is than a part.

    Where each held-out user is right or wrong, it has an interval over these users.

    The interval says how much it depends on who was held out, not on the noise, which was drawn once.
    """
    own, other = learned.scores["method"], learned.scores[part]
    if own is None or other is None:
        return None
    gain: dict[str, float | None] = {"mean": own - other, "low": None, "high": None}
    graph = learned.graph
    if learned.spec.resolved_task.learns_labels and graph.metric == "accuracy" and not graph.multilabel:
        scores, others = learned.parts["method"].scores, learned.parts[part].scores
        assert scores is not None and others is not None
        right = [(each.argmax(axis=1) == learned.users.raw.labels)[graph.test] for each in (scores, others)]
        apart = right[0].astype(np.float64) - right[1]
        if len(apart) > 1:
            error = NORMAL * float(apart.std(ddof=1)) / math.sqrt(len(apart))
            gain |= {"low": own - other - error, "high": own - other + error}
    return gain


def card_page(card: dict[str, Any]) -> str:
    """The whole page."""
    title = f"{card['method']} on a collection: {card['purpose']}"
    footer = f"graphveil {card['version']}, seed {card['seed']}, collection {card['collection']}."
    spent = card["collection_spent"]
    delta = f", δ = {number(spent['delta'])}" if spent["delta"] else ""
    whole = f"In all rounds of this collection nobody was asked to spend more than ε = {number(spent['epsilon'])}{delta}: budgets add up."
    sections = [_worth(card), _asked(card), Section("What it cost", (card["statement"], whole))]
    if card["model"] is not None:
        sections.append(Section("The model", (f"{card['model']} {ABOUT_MODEL}", CARE)))
    names = [
        (f"round {each['round']}", kind, each[key])
        for each in card["questions"]
        for kind, key in (("digest of the plan", "digest"), ("fingerprint of the mechanism", "fingerprint"))
    ]
    names.append(("result", "digest of who is in it", card["contributors"]))
    sections.append(Section("Names", (ABOUT_NAMES,), table=Table(("of", "what", "SHA-256"), tuple(names))))
    return page(title, card["verdict"], sections, footer)


def _worth(card: dict[str, Any]) -> Section:
    labels = card["labels"]
    whose = (
        f"{labels['train']:,} labels to learn from and {labels['validation']:,} to validate were asked for, "
        f"and {labels['held_out']:,} that the operator knows were held out to score."
        if labels["reported"]
        else f"The labels that the operator knows were divided by seed: {labels['train']:,} to learn from, {labels['validation']:,} to "
        f"validate, {labels['held_out']:,} held out to score. They were taken as public."
    )
    rows = [(f"{card['method']}, ε = {number(card['epsilon'])}", _score(card["scores"]["method"]), "")]
    for part, told in BESIDE.items():
        if part in card["scores"]:
            gain = card["gains"][part]
            shown = "" if gain is None else _points(gain["mean"]) + _interval(gain)
            rows.append((f"{NAMES[part]}: {told}", _score(card["scores"][part]), shown))
    head = ("what was learned from", card["metric"], "the method gains")
    return Section(
        "What it was worth", (whose, ABOUT_CONTROL), table=Table(head, tuple(rows), frozenset(head[1:]))
    )


def _score(score: float | None) -> str:
    return "not known" if score is None else percent(score)


def _asked(card: dict[str, Any]) -> Section:
    gave = f" {card['volunteers']:,} volunteers gave their raw rows." if card["panel"] else ""
    took_part = f"Of {card['users']:,} users {card['enrolled']:,} had enrolled."
    said = [f"{took_part} {card['asked']:,} were asked, and {card['answered']:,} answered.{gave}"]
    frozen = [str(each["round"]) for each in card["questions"] if not each["as_asked"]]
    if frozen:
        said.append(
            f"Answers of round {', '.join(frozen)} are those to the published question, which the method would now ask in another way."
        )
    head = ("round", "what", "mechanism", "ε", "exact ε", "asked", "answered")
    rows = tuple(
        (
            str(each["round"]),
            "class by a public model" if each["of"] == "class" else each["subject"],
            each["mechanism"],
            number(each["epsilon"]),
            "ideal" if each["exact"] is None else exact_epsilon(each["exact"], each["epsilon"]),
            f"{each['asked']:,}",
            f"{each['answered']:,}",
        )
        for each in card["questions"]
    )
    table = Table(head, rows, frozenset(head) - {"what", "mechanism"}) if rows else None
    return Section("What was asked", tuple(said), table=table)


def write_result(
    folder: Path,
    learned: StudyOutcome,
    card: dict[str, Any],
    ids: NDArray[Any],
    names: Sequence[str] | None = None,
) -> list[str]:
    """Write a result, and return the names of its files in the order of writing, the card last.

    Parameters
    ----------
    folder
        The folder to write into.
    learned
        The outcome of the study.
    card
        Its card, as `result_card` makes it.
    ids
        The external id of each node, (users,).
    names
        The operator's names of the classes, if they have any.
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
    if (values := learned.outcome.embedding) is not None:
        numbered: Columns = {"user": np.arange(len(values)), "id": ids}
        table(EMBEDDINGS, numbered | matrix_columns(EMBEDDING, values), card)
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
    """Return the columns of predictions, a class with its probability for every user, and their calibration.

    Parameters
    ----------
    learned
        The outcome of the study.
    ids
        The external id of each node, (users,).
    names
        The operator's names of the classes, if they have any.
    """
    graph, outcome = learned.graph, learned.outcome
    private = learned.spec.budgets.private_labels
    rows, calibration = calibrated_rows(outcome, graph, private_labels=private)
    classes = predicted_classes(outcome, graph)
    columns: Columns = {"user": np.arange(graph.node_count), "id": ids, "part": parts_of_split(graph)}
    columns["class"] = classes
    if names is not None:
        # Empty where a class has no name.
        columns["label"] = np.array(
            [names[each] if each < len(names) else "" for each in classes], dtype=np.str_
        )
    columns |= {"probability": rows[np.arange(len(rows)), classes].astype(np.float32)}
    return columns | matrix_columns("p", rows.astype(np.float32)), calibration


def _json(told: dict[str, Any]) -> bytes:
    return (json.dumps(told, ensure_ascii=False, indent=1, sort_keys=True) + "\n").encode()
