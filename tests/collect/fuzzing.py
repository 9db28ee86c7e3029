"""Sends fuzzed requests over real sockets, as many at a time as there are connections, and looks at what comes back.

    python -m tests.collect.fuzzing FOLDER 1000000 [SEED]

prints how far it is, and at the end all of it as JSON. What the collector says of itself goes to FOLDER.log.
"""

import json
import os
import select
import socket
import sys
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field

from tests.collect.campaign import PATIENCE, Collector
from tests.collect.fuzz import HOST, Fuzzer, prepare_fuzzing

CONNECTIONS = 32
# How often memory is looked at on the way.
LOOKS = 10


@dataclass
class Fuzzed:
    """What came back.

    Statuses of all answers; connections that were closed instead of an answer to a whole request; odd requests that were left
    without one; and the collector's resident megabytes by the number of requests that were sent.
    """

    statuses: Counter = field(default_factory=Counter)
    closed: int = 0
    unanswered: int = 0
    megabytes: dict[int, float] = field(default_factory=dict)

    @property
    def faults(self):
        return {status: count for status, count in self.statuses.items() if status >= 500}

    def as_dict(self):
        return {
            "statuses": {str(status): self.statuses[status] for status in sorted(self.statuses)},
            "closed": self.closed,
            "unanswered": self.unanswered,
            "megabytes": {str(count): round(size, 1) for count, size in self.megabytes.items()},
        }


def read_answer(buffer, method):
    """The first answer of what was received: its status, whether the connection ends, and its length; None where it is not all there."""
    end = buffer.find(b"\r\n\r\n")
    if end < 0:
        return None
    lines = bytes(buffer[:end]).lower().split(b"\r\n")
    status, end = int(lines[0].split(b" ")[1]), end + 4
    if 100 <= status < 200 or status == 204 or method == "HEAD":
        return status, b"connection: close" in lines, end
    for line in lines:
        if line.startswith(b"content-length:"):
            whole = end + int(line[15:])
            return None if len(buffer) < whole else (status, b"connection: close" in lines, whole)
    last = buffer.find(b"0\r\n\r\n", end)
    return None if last < 0 else (status, b"connection: close" in lines, last + 5)


class Line:
    """One connection, opened again whenever it was closed, with one request on its way."""

    def __init__(self, port, seen):
        self._port, self._seen, self._socket = port, seen, None
        self.waiting, self.deadline, self._buffer, self._odd = deque(), 0.0, bytearray(), False

    def send(self, request, poll, lines):
        """Send a request."""
        if self._socket is None:
            self._socket = socket.create_connection((HOST, self._port), PATIENCE)
            poll.register(self._socket, select.EPOLLIN)
            lines[self._socket.fileno()] = self
        self.waiting.extend(request.methods)
        self._odd = request.patience is not None
        self.deadline = time.monotonic() + (request.patience or PATIENCE)
        # Whoever refuses need not read on; the answer may be there all the same.
        with suppress(OSError):
            self._socket.sendall(request.data)

    def receive(self, lines):
        """Take what has come; an answer to an odd request is the last one of its connection."""
        try:
            data = self._socket.recv(1 << 16)
        except OSError:
            data = b""
        self._buffer += data
        while self.waiting and (answer := read_answer(self._buffer, self.waiting[0])) is not None:
            status, closing, length = answer
            del self._buffer[:length]
            if status >= 200:
                self.waiting.popleft()
                self._seen.statuses[status] += 1
            if closing:
                break
        else:
            closing = False
        if not data and self.waiting:
            self._seen.unanswered += self._odd
            self._seen.closed += not self._odd
        if not data or closing or (self._odd and not self.waiting):
            self.close(lines)

    def close(self, lines):
        """Forget the connection, and what was on its way."""
        if self._socket is not None:
            lines.pop(self._socket.fileno(), None)
            self._socket.close()
        self._socket, self._buffer = None, bytearray()
        self.waiting.clear()

    def late(self, now, lines):
        """Give up an odd request that is not answered; nothing else may remain without an answer."""
        if self.waiting and now > self.deadline:
            assert self._odd, "the collector does not answer"
            self._seen.unanswered += 1
            self.close(lines)


def send_fuzzed(fuzzer, count, port, seen):
    """Send so many requests over some connections."""
    poll, lines = select.epoll(), {}
    everybody = [Line(port, seen) for _ in range(CONNECTIONS)]
    left = count
    while left or any(line.waiting for line in everybody):
        for line in everybody:
            if left and not line.waiting:
                line.send(fuzzer.request(), poll, lines)
                left -= 1
        for number, _ in poll.poll(0.05):
            if number in lines:
                lines[number].receive(lines)
        now = time.monotonic()
        for line in everybody:
            line.late(now, lines)
    for line in everybody:
        line.close(lines)
    poll.close()


def fuzz_for(folder, requests, users=500, database=None, fork=False, seed=0, told=None, log=os.devnull):
    """Send so many requests to a collector in a process of its own; what came back, and how large it was."""
    fuzzer = Fuzzer(prepare_fuzzing(folder, users, database), seed)
    collector, seen = Collector(folder, fork, log), Fuzzed()
    collector.start()
    try:
        collector.wait()
        seen.megabytes[0] = collector.resident_megabytes()
        for look in range(LOOKS):
            before, after = requests * look // LOOKS, requests * (look + 1) // LOOKS
            send_fuzzed(fuzzer, after - before, collector.port, seen)
            seen.megabytes[after] = collector.resident_megabytes()
            if told is not None:
                told(seen)
    finally:
        collector.kill()
    return seen


if __name__ == "__main__":
    begun = time.monotonic()

    def progress(seen):
        print(f"{time.monotonic() - begun:.0f} s", json.dumps(seen.as_dict()), file=sys.stderr, flush=True)

    folder, count, *seed = sys.argv[1:]
    found = fuzz_for(folder, int(count), seed=int(seed[0]) if seed else 0, told=progress, log=f"{folder}.log")
    print(json.dumps(found.as_dict()))
