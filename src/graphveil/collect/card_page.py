"""A result's card as a page, which fetches nothing."""

from __future__ import annotations

from typing import Any

from graphveil.audit.findings import exact_epsilon
from graphveil.collect.card import BESIDE
from graphveil.experiments.page import Section, page
from graphveil.experiments.table import Table
from graphveil.number_format import percent
from graphveil.privacy.record import number

NAMES = {"control": "control", "structure": "structure", "unasked": "volunteers alone"}


def card_page(card: dict[str, Any]) -> str:
    """The whole page."""
    title = f"{card['method']} on a collection: {card['purpose']}"
    footer = f"graphveil {card['version']}, seed {card['seed']}, collection {card['collection']}."
    model = () if card["model"] is None else (_model(card),)
    sections = (_worth(card), _asked(card), _cost(card), *model, _names(card))
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
    about = (
        "The control is drawn by the server itself: blinded reports, which carry nothing, for exactly those who answered. An interval "
        "says how much a gain depends on who was held out; the noise was drawn once."
    )
    rows = [(f"{card['method']}, ε = {number(card['epsilon'])}", _score(card["scores"]["method"]), "")]
    for part, told in BESIDE.items():
        if part in card["scores"]:
            gain = card["gains"][part]
            rows.append((f"{NAMES[part]}: {told}", _score(card["scores"][part]), _gain(gain)))
    head = ("what was learned from", card["metric"], "the method gains")
    return Section("What it was worth", (whose, about), table=Table(head, tuple(rows), frozenset(head[1:])))


def _score(score: float | None) -> str:
    return "not known" if score is None else percent(score)


def _gain(gain: dict[str, float | None] | None) -> str:
    if gain is None or gain["mean"] is None:
        return ""
    mean = f"{100 * gain['mean']:+.1f}"
    if gain["low"] is None or gain["high"] is None:
        return mean
    return f"{mean} ({100 * gain['low']:+.1f} to {100 * gain['high']:+.1f})"


def _asked(card: dict[str, Any]) -> Section:
    gave = f" {card['volunteers']:,} volunteers gave their raw rows." if card["panel"] else ""
    who = (
        f"Of {card['users']:,} users {card['enrolled']:,} had enrolled. {card['asked']:,} were asked, and {card['answered']:,} "
        f"answered.{gave}"
    )
    frozen = [each["round"] for each in card["questions"] if not each["as_asked"]]
    told_as_asked = (
        f"Answers of round {', '.join(map(str, frozen))} are those to the published question, which the method would now ask in "
        "another way."
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
    numbers = frozenset({"round", "ε", "exact ε", "asked", "answered"})
    return Section(
        "What was asked",
        (who, told_as_asked) if frozen else (who,),
        table=Table(head, rows, numbers) if rows else None,
    )


def _cost(card: dict[str, Any]) -> Section:
    spent = card["collection_spent"]
    delta = f", δ = {number(spent['delta'])}" if spent["delta"] else ""
    whole = f"In all rounds of this collection nobody was asked to spend more than ε = {number(spent['epsilon'])}{delta}: budgets add up."
    return Section("What it cost", (card["statement"], whole))


def _model(card: dict[str, Any]) -> Section:
    about = (
        f"{card['model']} holds what was trained, with the questions, the reports that it was learned from, and known labels. "
        "gv.load_model reads it, and its predict takes the graph as it is, or one that has grown: those who joined are asked the same questions, and "
        "nobody is asked again."
    )
    care = "Keep it as you keep reports. If somebody who is in the result is forgotten, delete it and learn again."
    return Section("The model", (about, care))


def _names(card: dict[str, Any]) -> Section:
    rows = [
        (f"round {each['round']}", kind, each[key])
        for each in card["questions"]
        for kind, key in (("digest of the plan", "digest"), ("fingerprint of the mechanism", "fingerprint"))
    ]
    rows.append(("result", "digest of who is in it", card["contributors"]))
    about = "Whoever holds a plan can compute these again. If somebody who is in the result is forgotten, the collection marks it."
    return Section("Names", (about,), table=Table(("of", "what", "SHA-256"), tuple(rows)))
