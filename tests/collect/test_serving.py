"""The collector's process: it ends in order, and says nothing about anybody."""

import asyncio
import signal
import socket
import subprocess
import sys

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
