"""The collector's process: it ends in order, and says nothing about anybody."""

import asyncio
import signal
import socket
import subprocess
import sys

import pytest

from graphveil.collect import app
from graphveil.collect.app import memory_trimmer, trim_memory
from tests.collect.campaign import HOST, Seen, prepare, send_all, stored_nodes, uploads_of


def test_a_process_logs_nothing_of_what_is_sent_and_ends_when_it_is_told(tmp_path):
    collection, opened, reports = prepare(tmp_path / "c", None, 12)
    uploads = uploads_of(collection, opened, reports, duplicates=3, damaged=6)
    roster = collection.roster()
    collection.database.close()
    with socket.socket() as found:
        found.bind((HOST, 0))
        port = found.getsockname()[1]
    words = ["-m", "graphveil", "collect", "serve", str(tmp_path / "c"), "--port", str(port)]
    server = subprocess.Popen(
        [sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    seen = Seen()
    try:
        asyncio.run(send_all(uploads, port, seen))
        with socket.create_connection((HOST, port)) as broken:
            broken.sendall(b"no request at all\r\n\r\n")
            assert b"400" in broken.recv(1000)
            address = broken.getsockname()[1]
    finally:
        server.send_signal(signal.SIGTERM)
        logged, _ = server.communicate(timeout=60)
    assert seen.statuses.total() == 21 and len(stored_nodes(collection)) == 12
    first, *rest = logged.splitlines()
    assert first == f"Collecting at http://{HOST}:{port}, until interrupted."
    assert rest in ([], ["WARNING: Invalid HTTP request received."])
    for upload in uploads:
        for word in upload.request.split(b"\r\n\r\n")[0].decode().split():
            assert len(word) < 30 or word not in logged
    assert str(address) not in logged
    assert not any(name.hex() in logged for name in roster.pseudonym)
    collection.database.close()


def test_memory_is_given_back_again_and_again_where_something_can(monkeypatch):
    times = []
    monkeypatch.setattr(app, "memory_trimmer", lambda: times.append)

    async def some_time():
        task = asyncio.create_task(trim_memory(0.001))
        while len(times) < 3:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(some_time(), 30))
    assert times[:3] == [0, 0, 0]
    monkeypatch.setattr(app, "memory_trimmer", lambda: None)
    asyncio.run(asyncio.wait_for(trim_memory(), 30))


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc has it")
def test_the_c_library_is_asked_for_it():
    trim = memory_trimmer()
    if trim is None:
        pytest.skip("this C library has no malloc_trim")
    assert trim(0) in (0, 1)
