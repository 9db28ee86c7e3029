"""How fast one credential may send: a bucket of requests that fills again with time."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

# A device sends a few requests a day; this is for one that runs wild.
A_SECOND, AT_ONCE = 10.0, 100
# So many senders are remembered; whoever is not has a full bucket.
REMEMBERED = 100_000


class RateLimit:
    """Remembers when each sender's bucket will be full."""

    def __init__(
        self,
        a_second: float = A_SECOND,
        at_once: int = AT_ONCE,
        remembered: int = REMEMBERED,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gap, self._at_once, self._remembered, self._clock = 1.0 / a_second, at_once, remembered, clock
        self._full: OrderedDict[Hashable, float] = OrderedDict()

    def wait(self, sender: Hashable) -> float:
        """Count a request; 0 where it may go on, else how many seconds to wait for the next one."""
        now = self._clock()
        full = max(self._full.get(sender, now), now) + self._gap
        late = full - now - self._gap * self._at_once
        if late > 1e-9:
            return late
        self._full[sender] = full
        self._full.move_to_end(sender)
        if len(self._full) > self._remembered:
            self._full.popitem(last=False)
        return 0.0
