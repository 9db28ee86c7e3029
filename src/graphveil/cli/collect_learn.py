"""graphveil collect learn: a method on what a collection has gathered, as far as it gets."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from graphveil.checks import check_number
from graphveil.cli.console import Console, one_bar, say, show_table
from graphveil.cli.options import AsJson, Options, with_options
from graphveil.collect.card import BESIDE, result_card
from graphveil.collect.learning import RoundOpenError
from graphveil.collect.result_files import check_folder, write_result
from graphveil.collect.study import StudyTerms, check_collected, learn_collection
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.table import Table
from graphveil.number_format import percent

DAY = 24 * 60 * 60
# A hundred years.
MAX_DAYS = 36_600


CollectionFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The collection's folder.")]


@with_options
def collect_learn(
    *,
    folder: CollectionFolder,
    experiment: Annotated[
        Experiment,
        Options(
            without=("runs", "data_options", "turnout", "volunteers"),
            fixed={"data": "collection"},
            help={
                "seed": "The seed of split, model and control.",
                "control": "Skip control, structure and volunteers alone.",
            },
        ),
    ],
    study: Annotated[
        str | None,
        typer.Option(help="A name for these rounds; the method's by default. Another study asks anew."),
    ] = None,
    days: Annotated[
        float, typer.Option(help="For how many days devices may answer a published round.")
    ] = 14.0,
    as_published: Annotated[
        bool,
        typer.Option(
            "--as-published", help="Go on with published questions where the method would now ask others."
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for predictions, embeddings, model and card; DIR/results/STUDY by default."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a method on what a collection has gathered: closed rounds are read, the next question is published, and people are waited for.

    Run the same command again when the round is closed: the method starts anew with the same seed and gets one round further. Waiting is no
    error (exit status 0). At the end predictions and embeddings by id, the trained model where there is one, the questions, and a card are written.

    Example: graphveil collect learn survey togl --epsilon 2

    Example: graphveil collect learn survey veil --epsilon 2 --as-published --out results
    """
    check_number(days, "days", above=0, most=MAX_DAYS)
    check_collected(experiment)
    from graphveil.collect.storage import open_collection

    collection = open_collection(folder)
    name = study or experiment.method
    target = check_folder(out or folder / "results" / _plain(name))
    terms = StudyTerms(name, int(time.time() + days * DAY), as_published)
    try:
        with one_bar() as inside:
            learned = learn_collection(collection, experiment, terms, inside)
    except RoundOpenError as waiting:
        _tell_waiting(waiting, folder, as_json)
        return
    card = result_card(learned, collection.settings)
    public = collection.public_graph()
    written = write_result(target, learned, card, public.ids, public.class_names)
    number = collection.keep_result(card, learned.contributors)
    if as_json:
        told = {"state": "learned", "result": number, "folder": str(target), "files": written, **card}
        say(json.dumps(told, ensure_ascii=False))
    else:
        _show(card, target, written)


def _tell_waiting(waiting: RoundOpenError, folder: Path, as_json: bool) -> None:
    """Say which rounds people must answer first, and what to do then."""
    if as_json:
        rounds = [
            {
                "round": each.number,
                "digest": each.digest,
                "asked": len(each.asked),
                "answered": each.answered,
            }
            for each in waiting.rounds
        ]
        state = "published" if waiting.published else "open"
        say(json.dumps({"state": state, "rounds": rounds}))
        return
    say(str(waiting))
    close = " and ".join(f"`graphveil collect close {folder} {each.number}`" for each in waiting.rounds)
    say(f"When enough have answered, {close}, then run this command again.")


def _show(card: dict[str, Any], folder: Path, written: list[str]) -> None:
    rows = []
    for part in ("method", *BESIDE):
        if part in card["scores"]:
            score = card["scores"][part]
            name = card["method"] if part == "method" else f"{part}: {BESIDE[part]}"
            rows.append((name, "not known" if score is None else percent(score)))
    show_table(
        Table.of([f"{card['metric']} on {card['labels']['held_out']:,} held-out users", "score"], rows)
    )
    console = Console(soft_wrap=True, highlight=False)
    for sentence in (card["verdict"], card["statement"]):
        console.print(sentence, markup=False)
    console.print(f"Written to {folder}: {', '.join(written)}.", markup=False)


def _plain(name: str) -> str:
    """A name as a folder can have it."""
    plain = "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
    return plain.strip(".") or "study"
