"""Engines on the command line: what is refused, and an interrupt with a Ray of its own."""

import re
import socket
import subprocess
import time

import pytest

from graphveil.experiments.store import RESULTS, select
from tests.cli.support import town
from tests.interrupting import interrupted_when
from tests.test_extras import hidden_run

BASE = f"--data town --epsilon 2 --set epochs=2 {town()}"
RUN = f"run base {BASE}"

pytestmark = pytest.mark.usefixtures("own_folder")


def test_an_interrupt_ends_ray_and_keeps_what_is_finished(own_folder):
    def one_is_kept():
        return select(own_folder / "cache" / RESULTS, "SELECT id FROM units", ()) != [[]]

    endless = f"{RUN} --runs 5000 --no-control --engine ray --jobs 2"
    ended = interrupted_when(one_is_kept, endless.split())
    assert ended.status == 130
    assert re.search(
        r"Interrupted: \d+ of 5000 runs, .*, are finished and kept; the same command goes on", ended.err
    )
    assert "Traceback" not in ended.err
    assert left_of(ended.session) == []


def left_of(session):
    """The processes of a session that are still there, but for those that wait to be counted as ended."""
    end = time.monotonic() + 30
    while True:
        listed = subprocess.run(
            ["ps", "-eo", "sess=,stat=,args="], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        fields = [line.split(None, 2) for line in listed]
        left = [words for words in fields if words[0] == str(session) and not words[1].startswith("Z")]
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.2)


@pytest.mark.parametrize("command", [RUN, f"tune base {BASE} --out x.toml"])
def test_a_wrong_address_is_one_sentence(command, call):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    err = call(command, f"--engine ray://127.0.0.1:{port}", ends=2).err.strip()
    assert err.startswith(f"Error: no Ray can be reached at 127.0.0.1:{port} (Connection refused): start one")
    assert "or give --engine ray" in err and len(err.splitlines()) == 1


NO_ENGINES = [
    (f"{RUN} --engine dask", "--engine must be local, ray, ray://HOST:PORT or ray://auto, got 'dask'"),
    (f"{RUN} --engine ray://head", "ray://head is no address: give ray://HOST:PORT"),
    (f"{RUN} --engine ray --jobs 0", "--jobs must be an integer of at least 1, got 0"),
    ("sweep ppgnn-hops --engine ray --workers 2", "leave --workers out"),
    ("paper ppgnn --engine ray --workers 2", "leave --workers out"),
    (f"tune base {BASE} --engine ray --workers 2", "leave --workers out"),
    (f"{RUN} --workers 0 --engine ray", "--workers must be an integer of at least 1, got 0"),
]


def test_what_is_no_engine_is_refused_before_anything_is_computed(refuses):
    refuses(NO_ENGINES)


def test_without_ray_one_sentence_names_the_extra(own_folder):
    code = f"from graphveil.cli import main\nmain({f'{RUN} --engine ray'.split()!r})"
    done = hidden_run({"ray"}, code, folder=own_folder)
    assert done.returncode == 2 and done.stdout == ""
    last = done.stderr.strip().splitlines()[-1]
    assert last == "Error: this needs ray, which is not installed: pip install 'graphveil[ray]'"


def test_help_has_the_engine_and_an_example(call):
    helps = {command: call(f"{command} --help").words for command in ("run", "sweep", "paper", "tune")}
    assert [command for command, said in helps.items() if "--engine ray://" not in said] == []
