"""How EDGERR and privHRG are built, and what is checked before."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim
from graphveil.channels.kary import KaryChannel, kary
from graphveil.checks import check_number, check_whole, short
from graphveil.errors import InputError
from graphveil.mechanisms.base import verified
from graphveil.mechanisms.edgerr import EdgeRR, Numbers
from graphveil.mechanisms.lapgraph import MAX_USERS
from graphveil.mechanisms.registry import check_dims

# The part of the budget that the dendrogram gets; the document leaves it open, as it does τ₁ and τ_e.
TREE_SHARE = 0.5
TAU = 1.0
LEAST_TAU = 1e-12
# Steps a user on the way to a dendrogram: as many as there are users, four times, and at most this many.
TIMES_USERS, MAX_SWEEPS = 4, 1000
# More than anybody waits for.
SWEEPS_ALLOWED = 1 << 20


def build_edgerr(
    epsilon: float,
    dims: int,
    tree_share: float = TREE_SHARE,
    public: Any = None,
    private_users: Any = None,
    tau_split: float = TAU,
    tau_inner: float = TAU,
    sweeps: int | None = None,
) -> EdgeRR:
    """A graph of ``dims`` users whose private links are drawn anew by a curator; ``public`` links stay.

    ``public`` lists public links as numbers of users, two by two; ``private_users`` those who may have private ones (everybody by default).
    The dendrogram gets ``tree_share`` of ε, which may be 0; ``tau_split`` and ``tau_inner`` are Algorithm 3's τ₁ and τ_e, ``sweeps`` the
    steps a user.
    """
    return _built("edgerr", epsilon, dims, tree_share, public, private_users, (tau_split, tau_inner), sweeps)


def build_privhrg(
    epsilon: float,
    dims: int,
    tree_share: float = TREE_SHARE,
    tau_split: float = TAU,
    tau_inner: float = TAU,
    sweeps: int | None = None,
) -> EdgeRR:
    """A graph of ``dims`` users, drawn anew by a curator from a private dendrogram: EDGERR where all links are private."""
    return _built("privhrg", epsilon, dims, tree_share, None, None, (tau_split, tau_inner), sweeps)


def _built(
    name: str,
    epsilon: float,
    dims: int,
    tree_share: float,
    public: Any,
    private_users: Any,
    taus: tuple[float, float],
    sweeps: int | None,
) -> EdgeRR:
    check_dims(dims, what="users", most=MAX_USERS)
    size = int(dims)
    share = check_number(tree_share, "tree_share", least=0, below=1)
    checked = tuple(
        check_number(tau, title, least=LEAST_TAU, most=1 / LEAST_TAU)
        for tau, title in zip(taus, ("tau_split", "tau_inner"), strict=True)
    )
    usual = min(TIMES_USERS * size, MAX_SWEEPS)
    steps = usual if sweeps is None else check_whole(sweeps, "sweeps", least=1, most=SWEEPS_ALLOWED)
    spent = share * epsilon
    choosing = kary(spent, 2) if share else None
    channel = kary(epsilon - spent, 2)
    assert isinstance(channel, KaryChannel) and (choosing is None or isinstance(choosing, KaryChannel))
    mechanism = EdgeRR(
        name,
        Claim(epsilon),
        size,
        channel,
        choosing=choosing,
        public=_public_pairs(public, size),
        private=_private_users(private_users, size),
        taus=(checked[0], checked[1]),
        sweeps=steps,
    )
    return verified(mechanism)


def _public_pairs(given: Any, users: int) -> Numbers:
    """Public links, each once, larger number first; from a flat list of numbers."""
    numbers = _user_numbers(given, users, "public")
    if len(numbers) % 2:
        raise InputError(f"public must list links two numbers at a time, got {len(numbers)} numbers")
    pairs = numbers.reshape(-1, 2)
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise InputError(
            "public must list links between different users: leave out those of a user to itself"
        )
    codes = np.unique(pairs.max(axis=1) * users + pairs.min(axis=1))
    return np.stack([codes // users, codes % users], axis=1)


def _private_users(given: Any, users: int) -> NDArray[np.bool_]:
    """Who may have private links: everybody, or those who are listed."""
    if given is None:
        return np.ones(users, dtype=np.bool_)
    private = np.zeros(users, dtype=np.bool_)
    private[_user_numbers(given, users, "private_users")] = True
    return private


def _user_numbers(given: Any, users: int, name: str) -> Numbers:
    listed = [] if given is None else given
    array = np.asarray(listed) if isinstance(listed, (list, tuple, np.ndarray)) else None
    if array is not None and array.size == 0:
        return np.empty(0, dtype=np.int64)
    if array is None or array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"{name} must be a list of numbers of users, got {short(given)}")
    if int(array.min()) < 0 or int(array.max()) >= users:
        raise InputError(f"{name} must be numbers of users from 0 to {users - 1}, got {short(given)}")
    return array.astype(np.int64)
