"""How mechanisms of links are built, and how one link's budget is divided over what its ends send."""

from __future__ import annotations

from typing import Any

from graphveil.channels import CountingChannel, KaryChannel, counting, kary
from graphveil.channels.exact import Claim
from graphveil.checks import check_number, check_whole, short
from graphveil.errors import InputError
from graphveil.mechanisms.base import verified
from graphveil.mechanisms.degree_links import DegreeLinkMechanism
from graphveil.mechanisms.links import LinkMechanism
from graphveil.mechanisms.registry import check_dims
from graphveil.mechanisms.sampled_links import SampledLinkMechanism

# The part of a link's budget that degrees get: of 0.02, 0.03, 0.05 and 0.1 validation users of cora liked the smallest best.
DEGREE_SHARE = 0.02


def build_link_rr(epsilon: float, dims: int) -> LinkMechanism:
    """A list of neighbours among ``dims`` users, every pair answered by the user with the larger number."""
    check_dims(dims, what="users")
    return LinkMechanism("link-rr", Claim(epsilon), int(dims), _response(epsilon))


def build_blink(
    epsilon: float, dims: int, share: float = DEGREE_SHARE, ends: str = "one"
) -> DegreeLinkMechanism:
    """BLINK: a list of neighbours by randomized response and a noisy degree; one link costs ε over both its ends.

    ``share`` is the part of ε for degrees, of which a link is in two: little, since the answers tell degrees better than a tenth
    of ε does, which is what BLINK gives them. With ``ends`` "one" a pair is answered by the user with
    the larger number at the rest of ε; with "both", as published, by both its users at half of the rest each.
    """
    part = _share_for_degrees(share, dims)
    if not (isinstance(ends, str) and ends in ("one", "both")):
        raise InputError(
            f"ends must be 'one' (of two users one answers for their pair) or 'both', got {short(ends)}"
        )
    rest = epsilon * (1 - part)
    return verified(
        DegreeLinkMechanism(
            "blink",
            Claim(epsilon),
            int(dims),
            _response(rest if ends == "one" else rest / 2),
            degree_channel=_degrees(epsilon * part / 2, int(dims)),
            answering="one" if ends == "one" else "both",
        )
    )


def build_dprr(epsilon: float, dims: int, share: float = 0.1) -> SampledLinkMechanism:
    """DPRR: neighbours with smaller numbers by randomized response, how many they are, and as many of the yes as that.

    ``share`` is the part of ε for the number, of which a link is in one: that of the user with the larger number.
    """
    part = _share_for_degrees(share, dims)
    return verified(
        SampledLinkMechanism(
            "dprr",
            Claim(epsilon),
            int(dims),
            _response(epsilon * (1 - part)),
            degree_channel=_degrees(epsilon * part, int(dims)),
        )
    )


def _share_for_degrees(share: Any, dims: Any) -> float:
    """The part of a link's ε that degrees get; refused where it, or the number of users, makes no sense."""
    check_dims(dims, what="users")
    check_whole(dims, "dims", least=2, why="users whose degrees can be asked for")
    return check_number(share, "share", above=0, below=1)


def _response(epsilon: float) -> KaryChannel:
    channel = kary(epsilon, 2)
    assert isinstance(channel, KaryChannel)
    return channel


def _degrees(epsilon: float, users: int) -> CountingChannel:
    channel = counting(epsilon, users)
    assert isinstance(channel, CountingChannel)
    return channel
