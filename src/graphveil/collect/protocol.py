"""HTTP/1.1 as uvicorn reads it with h11; what is no HTTP is refused in the same form as everything else."""

from __future__ import annotations

import h11
from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, H11Protocol

from graphveil.collect.problems import problem_response

WRONG = "this is no request of HTTP/1.1: send a path in ASCII, plain headers, and one length"


class Protocol(H11Protocol):
    """One connection."""

    def send_400_response(self, msg: str) -> None:
        """Say what is wrong, and end the connection: nobody knows where the next request would begin."""
        # An answer may have been given already, to what came before: a second one would be a fault, and a traceback in the log.
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem = problem_response(400, WRONG, {"Connection": "close"})
            head = h11.Response(status_code=400, headers=problem.raw_headers, reason=STATUS_PHRASES[400])
            for event in (head, h11.Data(data=bytes(problem.body)), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            # Whoever was about to answer the beginning of it has nobody to tell.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()
