"""graphveil collect: a collection of real devices, from its folder to what is learned from it."""

from __future__ import annotations

import csv
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from graphveil.checks import check_number, check_whole
from graphveil.cli.console import FAILED, on_interrupt, one_bar, print_result, say, warn
from graphveil.cli.options import AsJson, CommandGroup, Options
from graphveil.collect.card import BESIDE, result_card, write_result
from graphveil.collect.folder import CollectionSettings, check_folder
from graphveil.collect.learning import RoundOpenError, StudyTerms
from graphveil.collect.public_graph import read_public_graph
from graphveil.collect.study import check_collected, learn_collection
from graphveil.errors import InputError, visible
from graphveil.experiments.experiment import Experiment
from graphveil.experiments.table import Table
from graphveil.methods.terms import option
from graphveil.number_format import percent
from graphveil.privacy.invitation import Invitation

if TYPE_CHECKING:
    from graphveil.collect.storage import Collection

DAY = 24 * 60 * 60
# A hundred years.
MAX_DAYS = 36_600
STOPPED = "all processes and folders of it are gone, and the same command begins anew"

collect_app = CommandGroup(
    help="A real collection: devices answer, a server stores what they send, methods learn from it.",
)

CollectionFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The collection's folder.")]
RoundNumber = Annotated[int, typer.Argument(metavar="ROUND", help="The number of a round.")]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--graph",
        help="The public graph: an .npz file (edges, y, ids), or a table of links (.csv, .parquet).",
    ),
]
LabelFile = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="A table of ids and labels (.csv, .parquet), beside a table of links; where no link is public, of everybody.",
    ),
]


@collect_app.command("export")
def collect_export(
    *,
    folder: CollectionFolder,
    out: Path = option(..., "The folder for the tables."),
    shards: int | None = option(
        None, "Write a sharded graph of so many partitions instead, with the reports beside it."
    ),
) -> None:
    """Write reports of closed rounds, the graph and the roster (by pseudonyms) as Parquet files.

    Example: graphveil collect export survey --out tables

    With --shards: graphveil collect export survey --out shards --shards 4
    """
    from graphveil.collect.export import export, export_shards

    collection = _opened(folder)
    if shards is None:
        for name, count in export(collection, out).items():
            say(f"{out / name}: {count}")
        return
    with on_interrupt():
        exported = export_shards(collection, out, shards)
    manifest = exported.shards.manifest
    say(
        f"{out}: {manifest.users} people in {shards} partitions by {manifest.partitioner}, {manifest.cut:.1%} of the links are cut",
        f"Rounds with reports: {', '.join(map(str, exported.rounds)) or 'none'}",
        *(f"Round {number} is left out: {reason}." for number, reason in exported.left_out.items()),
    )


@collect_app.command("demo")
def collect_demo(
    *,
    devices: int = option(1000, "How many people have a device."),
    processes: int = option(4, "How many processes hold devices."),
) -> None:
    """Show a collection on this machine: a collector, devices in several processes, two rounds of togl, and veil with volunteers.

    Everything goes over HTTP. Each method is then given the same reports in one process: what it predicts must be equal, bit for bit.
    Nothing is kept.

    Example: graphveil collect demo --devices 400
    """
    check_whole(devices, "devices", least=200, most=100_000)
    check_whole(processes, "processes", least=1, most=64)
    # Processes that share a machine: threads inside each would only wait for one another. No number changes by it.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from graphveil.collect.demo import DemoSize, run_demo

    with on_interrupt(STOPPED), _ending():
        equal = run_demo(DemoSize(devices, processes), say)
    if not equal:
        raise typer.Exit(FAILED)


@contextmanager
def _ending() -> Iterator[None]:
    """Clean up after SIGTERM as after Ctrl-C."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@collect_app.command("operator")
def collect_operator(
    *,
    folder: CollectionFolder,
    name: str = option(..., "What the operator is called here.", positional=True, metavar="NAME"),
    revoke: bool = option(False, "Take the token of this operator back.", "--revoke"),
) -> None:
    """Make a token by which an operator sees the status of a collection, and closes rounds, over HTTP.

    It is shown once: only its hash is stored. Everything else is done in the folder, by people who may read it.

    Example: graphveil collect operator survey ada
    """
    from graphveil.collect.roster import add_operator, revoke_operator

    database = _opened(folder).database
    if revoke:
        with database.writing() as connection:
            revoke_operator(connection, name)
        say(f"The token of {name} works no more.", err=True)
        return
    with database.writing() as connection:
        token = add_operator(connection, name)
    say(token)
    say(
        f"This is the token of {name}, and the only copy: send it as `Authorization: Bearer TOKEN` to GET /v1/operator/status "
        "or POST /v1/operator/rounds/N/close.",
        err=True,
    )


@collect_app.command("rotate")
def collect_rotate(folder: CollectionFolder) -> None:
    """Make a new key that signs questions. The old one signs that it is its successor, and is deleted.

    Devices follow at their next visit, and refuse from then on what the old key signs. Budgets, caps, answers and the credentials of devices stay as they
    are, and tokens that were given out stay good. Credentials that an earlier graphveil derived from the old key are worthless from then on. A key that was lost cannot be rotated, and one that was stolen must not be: make another collection.

    Example: graphveil collect rotate survey
    """
    from graphveil.collect.keys import SUCCESSIONS, key_file

    collection = _opened(folder)
    succession = collection.rotate()
    say(f"Change {succession.number} of the key: questions are now signed by {succession.after.hex()}.")
    kept = key_file(folder, succession.number)
    say(
        f"The old key was deleted here: delete its copies too, and keep a copy of {kept} and {folder / SUCCESSIONS} offline. "
        "Devices follow at their next visit; `serve` needs no restart."
    )
    roster = collection.roster()
    cut_off = [name for name, derived in zip(roster.external, roster.derived, strict=True) if derived]
    if cut_off:
        say(
            f"{len(cut_off)} devices had not registered a credential of their own since graphveil was updated, and are not known any more. Invite their "
            f"owners again with `graphveil collect invite {folder} --again ID`: {', '.join(cut_off)}."
        )


@collect_app.command("init")
def init(
    *,
    folder: CollectionFolder,
    graph: GraphFile = None,
    labels: LabelFile = None,
    settings: Annotated[CollectionSettings, Options(fixed={"id": ""})],
) -> None:
    """Make a collection: its folder, its key, its database.

    Example: graphveil collect init survey --graph links.csv --labels labels.csv --purpose "who needs a library" --epsilon 2 --dims 64 --range 0,1

    Example: graphveil collect init circle --labels people.csv --private-links --purpose "who needs a library" --epsilon 6 --dims 64 --range 0,1
    """
    from graphveil.collect.storage import create_collection

    collection = create_collection(folder, read_public_graph(graph, labels), settings)
    say(
        f"{folder}: a collection of {collection.public_graph().users} people, key {collection.key.public.hex()}"
    )
    say(f"Next: graphveil collect invite {folder} --out tokens.csv")


@collect_app.command("invite")
def invite(
    *,
    folder: CollectionFolder,
    out: Path | None = option(None, "A new .csv file for ids and tokens; they are printed by default."),
    again: list[str] | None = option(
        None,
        "A new token for a person; the old one is void. Somebody who is enrolled keeps name, terms and reports, and uses it to "
        "register a device again.",
        "--again",
        metavar="ID",
    ),
    graph: Path | None = option(
        None, "A later version of the public graph, with new people or links.", "--graph"
    ),
    labels: LabelFile = None,
) -> None:
    """Make a token for everybody who has none. Tokens are shown once: only their hashes are stored.

    Example: graphveil collect invite survey --out tokens.csv
    """
    later = None if graph is None and labels is None else read_public_graph(graph, labels)
    collection = _opened(folder)
    with nullcontext(sys.stdout) if out is None else _new_file(out) as file:
        if later is not None:
            version = collection.add_graph(later)
            say(f"The graph has version {version}.", err=True)
        invited = collection.invite(again or [])
        # A terminal shows ids as they can be seen; a file has them as they are.
        shown = visible if file.isatty() else str
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("id", "token"))
        for each in invited:
            token = Invitation(each.secret, collection.key.public).token()
            writer.writerow((shown(each.external), token))
    say(f"{len(invited)} people were invited. Send each person their token privately.", err=True)


def _new_file(file: Path) -> IO[str]:
    """Make a file that only its owner may read, and that was not there: tokens are not written over others."""
    try:
        return open(file, "x", encoding="utf-8", newline="", opener=partial(os.open, mode=0o600))
    except FileExistsError:
        raise InputError(f"{file} exists and may hold the only copy of tokens: name another file") from None
    except OSError as error:
        raise InputError(f"{file} cannot be written ({error.strerror}): name another file") from None


@collect_app.command("serve")
def serve_collection(
    *,
    folder: CollectionFolder,
    host: str = option("127.0.0.1", "The address to listen at."),
    port: int = option(8765, "The port to listen at; 0: any free one.", min=0, max=65535),
    origin: list[str] | None = option(
        None, "A web page's origin that may call; none by default.", "--origin", metavar="URL"
    ),
) -> None:
    """Take what devices send, until interrupted. TLS is a reverse proxy's: this speaks plain HTTP.

    Example: graphveil collect serve survey --port 8765
    """
    collection = _opened(folder)
    if host not in ("127.0.0.1", "::1", "localhost"):
        warn(
            "credentials and reports are sent in the clear over plain HTTP: put a reverse proxy with TLS before it"
        )
    from graphveil.collect.server import listening_at, serve

    listening = listening_at(host, port)
    at = f"[{host}]" if ":" in host else host
    say(f"Collecting at http://{at}:{listening.getsockname()[1]}, until interrupted.", err=True)
    serve(collection, listening, origin or [])


@collect_app.command("status")
def status(
    *,
    folder: CollectionFolder,
    expire: bool = option(False, "Delete reports that are older than the collection keeps them.", "--expire"),
    migrate: bool = option(False, "Bring the database up to date with this graphveil first.", "--migrate"),
    as_json: AsJson = False,
) -> None:
    """Show who takes part, which rounds there are, and what was learned.

    Example: graphveil collect status survey
    """
    from graphveil.collect.storage import migrate_collection

    if migrate:
        migrate_collection(folder)
    collection = _opened(folder)
    expired = collection.delete_expired() if expire else 0
    if expire:
        collection.overwrite_deleted()
    facts = {**collection.status(), "expired": expired}
    print_result(facts, as_json, *_status_parts(facts))


def _status_parts(facts: dict[str, Any]) -> Iterator[Table | str]:
    """Yield sentences about a collection, and a table of its rounds."""
    cap, rounds, results = facts["cap"], facts["rounds"], facts["results"]
    delta = f", delta {cap['delta']:g}" if cap["delta"] else ""
    yield f"{facts['purpose']} (cap: epsilon {cap['epsilon']:g}{delta})"
    yield (
        "{users:,} people in version {graph} of the graph, {invited:,} invited, {enrolled:,} enrolled ({volunteered:,} volunteers), "
        "{forgotten:,} forgotten; {reports:,} reports, {rows:,} rows"
    ).format(**facts)
    if facts["unregistered"]:
        yield (
            f"{facts['unregistered']:,} devices have a credential of an earlier graphveil: each registers its own at the next visit, unless you "
            "rotate the key before"
        )
    if facts["expired"]:
        yield f"{facts['expired']:,} reports and rows were deleted, their time was over"
    if rounds:
        yield Table.of(ROUND_HEAD, map(_round_row, rounds), text=("study", "asks by", "open until (UTC)"))
    if results:
        outdated = sum(each["outdated"] for each in results)
        yield f"results: {len(results)}, of them learned with reports that were forgotten since: {outdated}"


ROUND_HEAD = ("round", "study", "asks by", "ε", "asked", "answered", "read from", "open until (UTC)")


def _round_row(facts: dict[str, Any]) -> tuple[str, ...]:
    expires = datetime.fromtimestamp(facts["expires"], UTC).strftime("%Y-%m-%d %H:%M")
    return (
        str(facts["round"]),
        facts["study"],
        facts["mechanism"],
        f"{facts['epsilon']:g}",
        *(f"{facts[name]:,}" for name in ("asked", "answered", "least")),
        "closed" if facts["closed"] else expires,
    )


@collect_app.command("close")
def close(
    *,
    folder: CollectionFolder,
    round_number: RoundNumber,
    force: bool = option(False, "Even if fewer have answered than a round is read from.", "--force"),
) -> None:
    """Close a round: it takes no more reports, and can be learned from.

    A round is read from 100 answers on, or from all where fewer people were asked: a rule of operation, no privacy claim.

    Example: graphveil collect close survey 1
    """
    closed = _opened(folder).close(round_number, force=force)
    say(f"Round {closed.number} is closed: {closed.answered} of {len(closed.asked)} answered.")


@collect_app.command("forget")
def forget(
    *,
    folder: CollectionFolder,
    person: str = option(..., "The id that the graph has for the person.", positional=True, metavar="ID"),
) -> None:
    """Delete all that a person has sent, and mark what was learned with it. Nobody is asked again for it.

    Example: graphveil collect forget survey p17
    """
    collection = _opened(folder)
    count = collection.forget(collection.node_of(person))
    marked = sum(result.outdated for result in collection.results())
    say(
        f"Forgotten: reports deleted: {count}; results that are marked as learned with forgotten reports: {marked}."
    )
    if any(result.outdated and result.card.get("model") for result in collection.results()):
        say("Their models (model.pt) hold reports of forgotten people: delete these files, and learn again.")


@collect_app.command("learn")
def learn_collected(
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
    study: str | None = option(
        None, "A name for these rounds; the method's by default. Another study asks anew."
    ),
    days: float = option(14.0, "For how many days devices may answer a published round."),
    as_published: bool = option(
        False, "Go on with published questions where the method would now ask others.", "--as-published"
    ),
    out: Path | None = option(
        None, "The folder for predictions, embeddings, model and card; DIR/results/STUDY by default."
    ),
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
    collection = _opened(folder)
    name = study or experiment.method
    target = check_folder(out or folder / "results" / _plain(name))
    terms = StudyTerms(name, int(time.time() + days * DAY), as_published)
    try:
        with one_bar() as inside:
            learned = learn_collection(collection, experiment, terms, inside)
    except RoundOpenError as waiting:
        rounds = [
            {"round": each.number, "digest": each.digest, "asked": len(each.asked), "answered": each.answered}
            for each in waiting.rounds
        ]
        state = "published" if waiting.published else "open"
        close = " and ".join(f"`graphveil collect close {folder} {each.number}`" for each in waiting.rounds)
        then = f"When enough have answered, {close}, then run this command again."
        print_result({"state": state, "rounds": rounds}, as_json, str(waiting), then)
        return
    card = result_card(learned, collection.settings)
    public = collection.public_graph()
    written = write_result(target, learned, card, public.ids, public.class_names)
    number = collection.keep_result(card, learned.contributors)
    facts = {"state": "learned", "result": number, "folder": str(target), "files": written, **card}
    scores = card["scores"]
    names = {"method": card["method"], **{part: f"{part}: {what}" for part, what in BESIDE.items()}}
    rows = [
        (name, "not known" if scores[part] is None else percent(scores[part]))
        for part, name in names.items()
        if part in scores
    ]
    table = Table.of([f"{card['metric']} on {card['labels']['held_out']:,} held-out users", "score"], rows)
    files = f"Written to {target}: {', '.join(written)}."
    print_result(facts, as_json, table, card["verdict"], card["statement"], files)


def _plain(name: str) -> str:
    """Return a name as a folder can have it."""
    plain = "".join(each if each.isalnum() or each in "-_." else "-" for each in name)
    return plain.strip(".") or "study"


def _opened(folder: Path) -> Collection:
    from graphveil.collect.storage import open_collection

    return open_collection(folder)
