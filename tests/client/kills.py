"""Devices that are killed at random moments, between charge and sending among them, and several processes on one file.

As a program: `kills FOLDER KILLS`. Children are forked from a process that has loaded everything, so that a kill takes a moment.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np

from graphveil.client import Held
from graphveil.errors import RefusalError
from graphveil.privacy import Envelope
from tests.client.support import AGREEMENT, COLLECTION, OFFER, asked, device_in, values

PLANS = 12
# Two answers to one plan are equal with a chance of 2^-64 at best; a cap for ten of twelve plans.
WIDE = {"mechanism": "onebit", "dims": 64, "epsilon": 0.4}
CAPPED = 10
HELD = Held(row=np.linspace(0, 1, 64))


def agreement():
    from dataclasses import replace

    return replace(AGREEMENT, offer=replace(OFFER, dims=64))


def signed():
    return [asked(values(**WIDE, round=number)) for number in range(1, PLANS + 1)]


def answering(folder, questions, seed, tell=lambda: None):
    """Answer all questions in a random order, and send each answer: it is out once it stands in the file.

    It tells when an answer is sealed, and when it is sent.
    """
    device = device_in(folder, agreement())
    order = random.Random(seed).sample(range(PLANS), PLANS)
    for number in order:
        try:
            sealed = device.answer(COLLECTION, questions[number], HELD)
        except RefusalError as refusal:
            assert refusal.reason == "cap", refusal
            continue
        tell()
        out = os.open(folder / "sent", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(out, (sealed.envelope.hex() + "\n").encode())
        os.close(out)
        tell()


def forked(call):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            call()
            status = 0
        finally:
            os._exit(status)
    return child


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def check(folder):
    """Nothing was charged twice, nothing has two answers, all that was sent was charged, and no cap was passed."""
    lines = (folder / "sent").read_text().splitlines() if (folder / "sent").exists() else []
    sent = {Envelope.from_bytes(bytes.fromhex(line)) for line in lines}
    answers = {envelope.digest: envelope for envelope in sent}
    assert len(answers) == len(sent), "two different answers to one plan have left"
    (spending,) = device_in(folder, agreement()).spendings()
    digests = [line.digest for line in spending.lines]
    assert len(set(digests)) == len(digests), "a plan was charged twice"
    assert set(answers) <= set(digests), "an answer has left that was not charged"
    assert len(digests) <= CAPPED, "the cap was passed"
    return len(digests), len(answers)


def campaign(folder, kills):
    questions, draw, halfway = signed(), random.Random(1), set()
    for attempt in range(kills):
        if attempt % 3 == 0:
            start_anew(folder)
        killed_at(
            lambda tell, attempt=attempt: answering(folder, questions, attempt, tell), attempt % 4, draw
        )
        charged, sent = check(folder)
        halfway.add(charged > sent)
    assert halfway == {True, False}, "no kill fell between a charge and its sending"
    assert ended(forked(lambda: answering(folder, questions, 0))) == 0
    assert check(folder) == (CAPPED, CAPPED)


def start_anew(folder):
    for file in (*folder.glob("books/*"), folder / "sent"):
        file.unlink(missing_ok=True)


def killed_at(life, steps, draw):
    """Kill a device after it has told so many steps: at once after a charge, else at any moment of what it does next."""
    read, write = os.pipe()

    def tell():
        os.write(write, b".")
        # A moment for kills to fall into.
        time.sleep(0.01)

    child = forked(lambda: life(tell))
    os.close(write)
    for _ in range(steps):
        os.read(read, 1)
    time.sleep(0 if steps % 2 else draw.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.close(read)
    assert ended(child) == -signal.SIGKILL


def beside_each_other(folder):
    """Four processes answer the same questions at once."""
    questions = signed()
    device_in(folder, agreement())
    children = [forked(lambda seed=seed: answering(folder, questions, seed)) for seed in range(4)]
    assert [ended(child) for child in children] == [0, 0, 0, 0]
    assert check(folder) == (CAPPED, CAPPED)
    assert len((folder / "sent").read_text().splitlines()) == 4 * CAPPED


if __name__ == "__main__":
    place = Path(sys.argv[1])
    for name in ("killed", "together"):
        (place / name).mkdir()
    campaign(place / "killed", int(sys.argv[2]))
    beside_each_other(place / "together")
