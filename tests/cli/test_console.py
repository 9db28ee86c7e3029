"""What others wrote is shown, and neither a terminal nor a reader takes it for something else."""

import ast
import importlib
import io
import json
import logging
import time
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from rich.progress import Progress
from rich.table import Table

import graphveil.cli
from graphveil import Plan
from graphveil.cli import main
from graphveil.cli.console import Console, Description, quote, say
from graphveil.client import Response
from graphveil.collect.problems import problem_response
from graphveil.collect.server import VisibleFormatter
from graphveil.errors import InputError, RefusalError
from graphveil.experiments.page import Section, page
from graphveil.experiments.table import Table as PageTable
from graphveil.privacy import SignedQuestion
from graphveil.privacy.envelope import PREFIX
from tests.client.support import INVITATION, PRIVATE, ROW, Server, asked, fast_folder, values
from tests.hostile_words import FORGED, HOSTILE, obeyed
from tests.together import together

COMMAND = importlib.import_module("graphveil.cli.answer")
URL = "http://localhost:8000"


# A test that is tried with all of the words.
everything = together("words", HOSTILE.values(), HOSTILE)


@everything
def test_a_line_is_shown_as_one_line(words, capsys):
    say(f"before {words} after", "below")
    first, second, *rest = capsys.readouterr().out.split("\n")
    assert "harmless" in first and first.endswith("after") and (second, rest) == ("below", [""])
    assert obeyed(first) == []


@everything
def test_json_stays_the_same_json(words, capsys):
    say(json.dumps({words: [words]}, ensure_ascii=False))
    shown = capsys.readouterr().out
    assert json.loads(shown) == {words: [words]} and obeyed(shown, but="\n") == []


@everything
def test_a_table_and_a_progress_bar_keep_their_own_styles_and_no_others(words):
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard", width=200)
    console.print(f"[bold]ours[/] {words}")
    table = Table(title=words)
    table.add_column(words)
    table.add_row(words)
    console.print(table)
    with Progress(Description(), console=console, transient=True) as bars:
        bars.add_task(words)
    shown = file.getvalue()
    assert "\x1b[1mours\x1b[0m" in shown and "harmless" in shown
    # Rich moves its own cursor, and ends its lines.
    assert words not in shown and f"\n{FORGED}" not in shown and obeyed(shown, but="\x1b\n\r") == []


@everything
def test_what_somebody_wrote_stands_behind_a_margin_on_every_line(words):
    lines = quote(f"{words} {'x ' * 400}")
    assert len(lines) > 3 and all(line.startswith("  | ") and obeyed(line) == [] for line in lines)


def signed(question):
    """A question with anything in it, signed by the collection, as it travels."""
    payload = json.dumps(question, sort_keys=True, separators=(",", ":")).encode()
    signature = Ed25519PrivateKey.from_private_bytes(PRIVATE).sign(PREFIX + payload)
    return SignedQuestion(payload, signature).as_dict()


class Hostile(Server):
    """A collector that says these words wherever it can."""

    words = ""

    def __call__(self, method, path, body=None, headers=None, limit=0):
        if path == "/v1/questions":
            terms = {"expires": self.expires, "purpose": self.words}
            named = json.loads(asked(values(), **terms).payload)
            named["plan"][self.words] = 1
            right = asked(values(), round=2, **terms).as_dict()
            return self._json(200, [signed(named), right])
        if path.startswith("/v1/rounds/"):
            return self._json(409, {"detail": self.words})
        return super().__call__(method, path, body, headers, limit)


@everything
def test_a_collector_cannot_hide_or_forge_what_an_owner_is_told(words, monkeypatch, call):
    with fast_folder() as name:
        folder = Path(name)
        server = Hostile(offer={"purpose": words}, expires=int(time.time()) + 1000)
        server.words = words
        monkeypatch.setattr(COMMAND, "Http", lambda url: server)
        monkeypatch.setenv("GRAPHVEIL_STATE", str(folder / "state"))
        (folder / "me.json").write_text(json.dumps(ROW))
        given = f"--row {folder / 'me.json'} --token {INVITATION.token()} --yes"
        shown = call(f"answer --server {URL}", given, ends=2)
    assert obeyed(shown.out + shown.err, but="\n") == []
    lines = shown.lines
    assert lines[-1].startswith("Spent in this collection: ε = 1; left of the cap: 3;")
    # The field's name, and what the collector says of the answer: a line each, and the sum.
    assert len(lines) == 3 and lines[0].startswith("Refused (damaged): ")
    assert "does not take the answer (harm" in lines[1]


def test_a_long_name_of_a_field_does_not_push_what_is_wrong_away():
    with pytest.raises(InputError) as caught:
        Plan(mechanism="multibit", epsilon=1.0, dims=4, range=(0, 1), **{"x" * 10_000: 1})
    assert len(str(caught.value)) < 200


@everything
def test_errors_problems_pages_and_logs_show_what_stands_in_them(words):
    response = problem_response(422, words)
    record = logging.LogRecord("uvicorn", logging.ERROR, "", 1, "fault: %s", (words,), None)
    section = Section(words, (words,), table=PageTable((words,), ((words,),)), notes=(words,))
    surfaces = {
        "error": str(InputError(f"wrong: {words}")),
        "refusal": str(RefusalError("damaged", words)),
        "problem of a collector": json.loads(response.body)["detail"],
        "problem on a device": Response(409, json.dumps({"detail": words}).encode()).problem,
        "log": VisibleFormatter("%(message)s").format(record).replace("\n  ", " "),
        "page": page(words, words, [section], words, words).replace("\n", " "),
    }
    for surface, shown in surfaces.items():
        assert "harmless" in shown, surface
        assert obeyed(shown) == [], surface


@everything
def test_files_and_arguments_of_such_names_are_shown(words, tmp_path, tried):
    name = words.replace("/", "")
    for command in (
        ["statement", str(tmp_path / f"{name}.json"), "--html", "a.html"],
        ["audit", name],
        ["run", name, "--data", "town"],
        ["collect", "status", str(tmp_path / name)],
        ["results", "--tag", name],
    ):
        shown = tried(command)
        assert obeyed(shown.out + shown.err, but="\n") == [], command


def test_a_fault_of_ours_is_told_like_everything_else(monkeypatch, capsys):
    def broken(_):
        raise RuntimeError(HOSTILE["erase the line"])

    monkeypatch.setattr(graphveil.cli, "status", broken)
    with pytest.raises(SystemExit) as left:
        main(["results"])
    shown = capsys.readouterr().err
    assert left.value.code == 1 and "RuntimeError: harmless" in shown and obeyed(shown, but="\n") == []


def test_nothing_else_of_the_command_line_prints():
    folder = Path(graphveil.cli.__file__).parent
    printing = set()
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("print", "rich.print") or called.endswith(("echo", "echo_via_pager")):
                    printing.add(file.name)
            if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
                printing.add(file.name)
    assert printing == {"console.py"}
