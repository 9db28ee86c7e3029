"""EDGERR and privHRG: a curator publishes a graph that is drawn anew from a private dendrogram; public links stay."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphveil.channels.exact import Claim, Loss
from graphveil.channels.kary import KaryChannel, kary
from graphveil.channels.sampling import RandomBits, SystemBits, code_type
from graphveil.checks import check_number, check_whole, short
from graphveil.errors import InputError
from graphveil.mechanisms.base import Answer, verified
from graphveil.mechanisms.exact_sampling import noisy_counts
from graphveil.mechanisms.lapgraph import MAX_USERS, Pair, PublishedGraph, common_counts
from graphveil.mechanisms.limits import check_dims
from graphveil.mechanisms.links import NeighbourLists
from graphveil.mechanisms.reports import Reports, row_pointers
from graphveil.mechanisms.small_dendrograms import Pairs, Sketches
from graphveil.progress import report_progress

if TYPE_CHECKING:
    from graphveil.mechanisms.dendrogram import Links, Regions, Tree

# Steps a user between two looks at how far the public walk has come, ...
LOOK_SWEEPS = 16
# ... and which part of all that it has risen a quarter of it may still rise by.
STILL_RISING = 0.01
# Parts of the walk with private links, in the first half of which their weight grows.
STAGES = 16
# Steps whose random words are drawn together, and words of small graphs.
BLOCK, SMALL_WORDS = 1 << 17, 1 << 22
# A chance is computed in double precision: this much of the budget is left for its rounding.
ROUNDING = 1e-9
# Users of a graph whose reports are enumerated as rows of cells: three have three pairs.
MAX_CELLS = 3

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class EdgeRR(PublishedGraph):
    """A curator publishes a graph of which the private pairs are drawn anew. Public links stay as they are.

    Who has private links is public and given (``private_users``), and so are all public links: a private pair is one of two private
    users without a public link. The curator draws a dendrogram D of all users with a probability in proportion to
    exp(L_pub(D) + c·L_pri(D)): L_pub is the log-likelihood of the public links (what they say of who belongs together costs
    nothing), L_pri that of the private ones, c = ε₁/(2Δ). Then it counts the private links of every split of D, adds two-sided
    geometric noise of ratio e^-ε₂, cuts that to what is possible, and links each private pair with the noisy share of its split. Subtrees that
    are so small that noise would be all there is (Algorithm 3's λ_b ≥ τ₁ and λ_c ≥ τ_e) are counted as one.

    D comes of a walk over dendrograms (`dendrogram.walk`). It starts from any, all equally likely, and first goes by the public links alone until
    their likelihood has all but ceased to rise, or ``sweeps`` steps a user are done; then ``sweeps`` steps a user with both (c grows in the first half). How long it
    goes is decided by public numbers alone.

    Source: HeteroRR, Algorithms 2 and 3, Lemma 4; privHRG, the case in which all links are private, is of Xiao, Chen and Tan (2014),
    after the hierarchical random graphs of Clauset, Moore and Newman (2008). Three things are not as printed. The exponential mechanism has 2Δ
    in place of Δ: a link makes some dendrograms likelier and others less so. The printed walk takes turns between steps for public links
    and steps for private ones, each with a goal of its own, and ends in neither's: here a private step judges what a public step
    has accepted, which has the distribution above. And a subtree that is counted as one has one noisy count.
    Claim: ε = ε₁ + ε₂ for two graphs that differ in one private link, in the central model. In every dendrogram the link is in one
    split, of at most N = ⌊n²/4⌋ pairs of n private users, whose term changes by at most Δ = ln N + (N-1) ln(N/(N-1)); so a dendrogram of
    the distribution above is at most e^ε₁ times as likely. One count changes by one, and its noisy value is at most e^ε₂ times as
    likely. What is drawn after that sees no link. A walk that ends only comes near that distribution, and its steps compute in double
    precision: with ``tree_share`` 0 the dendrogram comes of public links alone, and the claim needs neither.
    """

    choosing: KaryChannel | None = field(kw_only=True)
    public: NDArray[np.int64] = field(kw_only=True)
    private: NDArray[np.bool_] = field(kw_only=True)
    taus: tuple[float, float] = field(kw_only=True)
    sweeps: int = field(kw_only=True)
    # Whether private links are looked at: not in the control.
    sighted: bool = True
    independent: ClassVar[bool] = False

    @property
    def beyond_audit(self) -> tuple[str, ...]:
        if self.choosing is None:
            return ()
        told = (
            f"The walk that finds a dendrogram: it ends after {self.steps:,} steps near the distribution that the claim is about, which is compared "
            "on graphs of a few users alone; with tree_share = 0 the claim needs no walk."
        )
        return (told,)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The choice of a dendrogram, and a count for every split; one link is in the first and in one of the others."""
        counts = Answer(self.channel, max(self.size - 1, 1))
        return (counts,) if self.choosing is None else (Answer(self.choosing, 1), counts)

    @property
    def loss(self) -> Loss:
        """The exact loss of one link by addition: that of the dendrogram, as the exponential mechanism has it, and that of one count."""
        if not self.sighted:
            return Loss(())
        return Loss.total(
            [self.channel.loss] if self.choosing is None else [self.choosing.loss, self.channel.loss]
        )

    @property
    def sensitivity(self) -> float:
        """Δ, the most by which one private link changes the log-likelihood of a dendrogram (Lemma 4)."""
        count = int(self.private.sum())
        pairs = count * count // 4
        return 0.0 if pairs < 2 else math.log(pairs) + (pairs - 1) * math.log1p(1 / (pairs - 1))

    @cached_property
    def tilt(self) -> float:
        """c = ε₁/(2Δ), the weight of the private likelihood."""
        if self.choosing is None or not self.sensitivity:
            return 0.0
        return float(self.choosing.loss.bounds()[0]) * (1 - ROUNDING) / (2 * self.sensitivity)

    @property
    def ratio(self) -> Fraction:
        """The factor by which a noisy count is likelier than the next farther one."""
        return Fraction(self.channel.other, self.channel.other + self.channel.surplus)

    @property
    def least_pairs(self) -> tuple[float, float]:
        """The largest numbers of pairs at which a subtree is counted as one.

        They are of pairs between its two sides, and of ordered pairs within: Algorithm 3's λ_b ≥ τ₁ and λ_c ≥
        τ_e.
        """
        spent = self.channel.claim.epsilon
        return 1 / (spent * self.taus[0]), 1 / (spent * self.taus[1])

    @cached_property
    def steps(self) -> int:
        """The number of steps that the walk takes with private links."""
        return self.sweeps * self.size

    def compares(self, one: Any, other: Any) -> bool:
        """Return whether two rows of cells differ in one private pair."""
        different = np.flatnonzero(np.asarray(one) != np.asarray(other))
        return int(np.isin(different, self._private_cells).sum()) == 1

    def randomize(self, private: Any, random_bits: RandomBits | None = None) -> Reports:
        source = SystemBits() if random_bits is None else random_bits
        if not isinstance(private, NeighbourLists):
            return self._publish_rows(self._cells(private), source)
        pairs = self._published(self._private_links(self._lists(private)), source)
        counts = np.bincount(pairs[:, 0], minlength=self.size)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        return Reports(self, row_pointers(counts), None, pairs[order, 1].astype(code_type(self.size)))

    def _private_links(self, lists: NeighbourLists) -> Numbers:
        """Return the private pairs that are links, larger number first."""
        rows, others = self._links(lists)
        mine = (others < rows) & self.private[rows] & self.private[others]
        codes = np.setdiff1d(rows[mine] * self.size + others[mine], self._public_codes)
        links = codes if self.sighted else codes[:0]
        return np.stack([links // self.size, links % self.size], axis=1)

    @cached_property
    def _public_codes(self) -> Numbers:
        codes: Numbers = self.public[:, 0] * self.size + self.public[:, 1]
        return codes

    def _published(self, links: Numbers, random_bits: RandomBits) -> NDArray[np.int32]:
        """Return the private pairs that one published graph links, larger number first."""
        dendrogram = compiled()
        if self.size < 2:
            return np.empty((0, 2), dtype=np.int32)
        regions, noisy = self._sketched(links, random_bits)
        shares, known = _shares(noisy, regions.pairs), self._known
        pairs: NDArray[np.int32] = dendrogram.draw_pairs(regions, shares, known, _chance(random_bits))
        return pairs

    def sketch(self, private: NeighbourLists, random_bits: RandomBits) -> tuple[Regions, Numbers]:
        """Draw what the published graph is made from: regions of pairs with noisy numbers of links.

        The claim is about this sketch.
        """
        return self._sketched(self._private_links(self._lists(private)), random_bits)

    def _sketched(self, links: Numbers, random_bits: RandomBits) -> tuple[Regions, Numbers]:
        dendrogram = compiled()
        known = self._known
        tree = dendrogram.random_tree(self.size, self.private, random_bits.take(self.size))
        self._walk_public(dendrogram, tree, known, random_bits)
        together = dendrogram.links_of(self.size, *self._with_private(links))
        dendrogram.count_links(tree, together)
        self._walk_private(dendrogram, tree, together, random_bits)
        regions = dendrogram.regions_of(tree, self.private, *self.least_pairs)
        return regions, noisy_counts(regions.counts, regions.pairs, self.ratio, random_bits)

    def _walk_public(self, dendrogram: Any, tree: Tree, known: Links, random_bits: RandomBits) -> None:
        """Fit a dendrogram to the public links until the fit hardly improves; no private link is read."""
        if not len(self.public):
            return
        dendrogram.count_links(tree, known)
        seen, look = [dendrogram.likelihoods(tree)[0]], LOOK_SWEEPS * self.size
        for start in range(0, self.steps, look):
            self._walk(dendrogram, tree, known, 0.0, min(look, self.steps - start), random_bits)
            seen.append(dendrogram.likelihoods(tree)[0])
            report_progress("a dendrogram of public links", min(1.0, (start + look) / self.steps))
            if settled(seen):
                return

    def _walk_private(self, dendrogram: Any, tree: Tree, links: Links, random_bits: RandomBits) -> None:
        """Continue the walk with private links too.

        Their weight grows in the first half of the steps, so that the walk does not stay in a bad place for
        long.
        """
        if not self.tilt:
            return
        for stage in range(1, STAGES + 1):
            steps = self.steps * stage // STAGES - self.steps * (stage - 1) // STAGES
            self._walk(dendrogram, tree, links, self.tilt * min(1.0, 2 * stage / STAGES), steps, random_bits)
            report_progress("a dendrogram of private links", stage / STAGES)

    def _walk(
        self, dendrogram: Any, tree: Tree, links: Links, tilt: float, steps: int, random_bits: RandomBits
    ) -> None:
        for start in range(0, steps, BLOCK):
            drawn = random_bits.take(dendrogram.WORDS_A_STEP * min(BLOCK, steps - start))
            dendrogram.walk(tree, links, drawn, tilt)

    @cached_property
    def _known(self) -> Links:
        """The public links, and which of them have private users at both ends."""
        links: Links = compiled().links_of(self.size, *self._with_private(self.public[:0]))
        return links

    def _with_private(self, links: Numbers) -> tuple[Numbers, NDArray[np.int8]]:
        """Return the public links and then these private ones, and the kind of each."""
        dendrogram = compiled()
        both = self.private[self.public].all(axis=1)
        known = np.where(both, dendrogram.KNOWN, dendrogram.PUBLIC)
        kinds = np.concatenate([known, np.full(len(links), dendrogram.PRIVATE)]).astype(np.int8)
        return np.concatenate([self.public, links]), kinds

    @cached_property
    def _pairs_of_cells(self) -> Numbers:
        """The pairs that the cells of a row stand for, larger number first.

        There are as many as users, or fewer where there are fewer pairs.
        """
        numbers = np.arange(self.size, dtype=np.int64)
        larger = (1 + np.sqrt(1 + 8 * numbers.astype(np.float64))) // 2
        pairs = np.stack([larger, numbers - larger * (larger - 1) / 2], axis=1).astype(np.int64)
        return pairs[pairs[:, 0] < self.size]

    @cached_property
    def _private_cells(self) -> Numbers:
        """The cells that stand for private pairs."""
        pairs = self._pairs_of_cells
        known = np.isin(pairs[:, 0] * self.size + pairs[:, 1], self._public_codes)
        return np.flatnonzero(self.private[pairs].all(axis=1) & ~known)

    def _cells(self, private: Any) -> NDArray[np.bool_]:
        """Return which private cells are linked: (graphs, private cells) bool."""
        lists = self._lists(private)
        rows = np.repeat(np.arange(len(lists.owners)), np.diff(lists.indptr))
        inside = self._somebody(lists)
        held = np.zeros((len(lists.owners), self.size), dtype=np.bool_)
        held[rows[inside], lists.neighbours[inside].astype(np.int64)] = self.sighted
        return held[:, self._private_cells]

    def _publish_rows(self, held: NDArray[np.bool_], random_bits: RandomBits) -> Reports:
        """Publish graphs of a few cells each, one after the other."""
        dendrogram = compiled()
        needed = self.size + dendrogram.WORDS_A_STEP * self.steps
        block = max(1, SMALL_WORDS // needed)
        blocks = [held[start : start + block] for start in range(0, len(held), block) if self.size > 1]
        parts = [
            self._publish_block(block, random_bits.take(len(block) * needed), random_bits) for block in blocks
        ]
        counts, codes = (
            (np.concatenate(each) for each in zip(*parts, strict=True))
            if parts
            else (np.zeros(len(held), dtype=np.int64), self._private_cells[:0])
        )
        return Reports(self, row_pointers(counts), None, codes.astype(code_type(self.size)))

    def _publish_block(
        self, held: NDArray[np.bool_], drawn: NDArray[np.uint64], random_bits: RandomBits
    ) -> tuple[Numbers, Numbers]:
        dendrogram = compiled()
        cells = self._pairs_of_cells[self._private_cells]
        pairs, kinds = self._with_private(cells)
        there = np.concatenate([np.ones((len(held), len(self.public)), dtype=np.bool_), held], axis=1)
        drawn = drawn.reshape(len(held), -1)
        lines, found = dendrogram.regions_of_many(
            self.size, self.private, pairs, kinds, there, drawn, self.tilt, np.array(self.least_pairs)
        )
        shares = _shares(noisy_counts(found[4], found[3], self.ratio, random_bits), found[3])
        counts, new = dendrogram.draw_pairs_of_many(lines, found, shares, self._known, _chance(random_bits))
        # What lies beyond the cells that a row has is published too, and is not looked at.
        graphs = np.repeat(np.arange(len(held)), counts)
        number = new[:, 0].astype(np.int64) * (new[:, 0] - 1) // 2 + new[:, 1]
        seen = number < self.size
        order = np.lexsort((number[seen], graphs[seen]))
        return np.bincount(graphs[seen], minlength=len(held)), number[seen][order]

    def chances_of(self, graph: frozenset[Pair]) -> list[Fraction]:
        """Return the probabilities of all dendrograms with all their noisy counts.

        The graph is drawn from these, so they tell no less than it does.
        """
        return self._sketches.chances(self._seen(graph))

    def joint_counts(self, private: Any) -> tuple[NDArray[np.object_], int]:
        """Return the counts of a graph of n cells in the order of `possible_reports`.

        Cell 0 is the lowest bit of a published set's number.
        """
        if self.size > MAX_CELLS:
            raise InputError(f"{self.name} has too many different graphs to enumerate: take fewer users")
        pairs = [(int(two), int(one)) for one, two in self._pairs_of_cells]
        graph = frozenset(pairs[cell] for cell in np.flatnonzero(private).tolist() if cell < len(pairs))
        published = self._sketches.published(self._seen(graph), pairs)
        return common_counts(published + [Fraction(0)] * ((1 << self.size) - len(published)))

    def _seen(self, graph: Pairs) -> Pairs:
        """Return the private links of a graph that are looked at."""
        return graph & self._sketches.domain if self.sighted else frozenset()

    @cached_property
    def _sketches(self) -> Sketches:
        known = frozenset((int(two), int(one)) for one, two in self.public)
        users = frozenset(np.flatnonzero(self.private).tolist())
        return Sketches(self.size, users, known, self.tilt, self.ratio, self.least_pairs)

    def described(self) -> dict[str, Any]:
        return {
            **super().described(),
            "public": self.public.ravel().tolist(),
            "private_users": np.flatnonzero(self.private).tolist(),
            "taus": list(self.taus),
            "sweeps": self.sweeps,
        }

    def blind(self) -> EdgeRR:
        """Return the control: a curator who publishes the graph without private links in the same way."""
        return replace(self, name=f"blind {self.name}", claim=Claim(0.0), sighted=False)


def _shares(noisy: Numbers, pairs: Numbers) -> NDArray[np.float64]:
    """Return the share of its private pairs that every region links."""
    return np.asarray(noisy / np.maximum(pairs, 1), dtype=np.float64)


def compiled() -> Any:
    """Import `dendrogram`, which needs numba; only a curator loads it, and no device needs it."""
    from graphveil.mechanisms import dendrogram

    return dendrogram


def settled(seen: list[float]) -> bool:
    """Return whether a walk has all but ceased to rise.

    The mean of its last quarter is then hardly above that of the quarter before.
    """
    quarter = len(seen) // 4
    if quarter < 2:
        return False
    rise = float(np.mean(seen[-quarter:]) - np.mean(seen[-2 * quarter : -quarter]))
    return rise <= STILL_RISING * (max(seen) - seen[0])


def _chance(random_bits: RandomBits) -> np.random.Generator:
    """Return a generator, seeded by 256 random bits, for draws that privacy does not depend on."""
    return np.random.Generator(np.random.PCG64(random_bits.take(4).tolist()))


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
    """Build EDGERR: a graph whose private links are drawn anew by a curator; public links stay.

    Parameters
    ----------
    epsilon
        The budget of one private link, in the central model.
    dims
        The number of users.
    tree_share
        The part of ε for the dendrogram; it may be 0.
    public
        The public links as a flat list of numbers of users, two for each link.
    private_users
        The users who may have private links; everybody by default.
    tau_split, tau_inner
        Algorithm 3's τ₁ and τ_e.
    sweeps
        The number of steps per user.
    """
    check_dims(dims, what="users", most=MAX_USERS)
    size = int(dims)
    share = check_number(tree_share, "tree_share", least=0, below=1)
    first, second = (
        check_number(tau, title, least=LEAST_TAU, most=1 / LEAST_TAU)
        for tau, title in ((tau_split, "tau_split"), (tau_inner, "tau_inner"))
    )
    usual = min(TIMES_USERS * size, MAX_SWEEPS)
    steps = usual if sweeps is None else check_whole(sweeps, "sweeps", least=1, most=SWEEPS_ALLOWED)
    spent = share * epsilon
    mechanism = EdgeRR(
        "edgerr",
        Claim(epsilon),
        size,
        kary(epsilon - spent, 2),
        choosing=kary(spent, 2) if share else None,
        public=_public_pairs(public, size),
        private=_private_users(private_users, size),
        taus=(first, second),
        sweeps=steps,
    )
    return verified(mechanism)


def build_privhrg(
    epsilon: float,
    dims: int,
    tree_share: float = TREE_SHARE,
    tau_split: float = TAU,
    tau_inner: float = TAU,
    sweeps: int | None = None,
) -> EdgeRR:
    """Build privHRG: a graph drawn anew by a curator from a private dendrogram.

    It is EDGERR where all links are private.

    Parameters
    ----------
    epsilon
        The budget of one link, in the central model.
    dims
        The number of users.
    tree_share
        The part of ε for the dendrogram; it may be 0.
    tau_split, tau_inner
        Algorithm 3's τ₁ and τ_e.
    sweeps
        The number of steps per user.
    """
    built = build_edgerr(epsilon, dims, tree_share, tau_split=tau_split, tau_inner=tau_inner, sweeps=sweeps)
    return replace(built, name="privhrg")


def _public_pairs(given: Any, users: int) -> Numbers:
    """Return public links from a flat list of numbers, each once, larger number first."""
    numbers = _user_numbers(given, users, "public")
    if len(numbers) % 2:
        raise InputError(f"public must list links two numbers at a time, got {len(numbers)} numbers")
    pairs = numbers.reshape(-1, 2)
    if (pairs[:, 0] == pairs[:, 1]).any():
        raise InputError("public must list links between different users: leave out loops")
    codes = np.unique(pairs.max(axis=1) * users + pairs.min(axis=1))
    return np.stack([codes // users, codes % users], axis=1)


def _private_users(given: Any, users: int) -> NDArray[np.bool_]:
    """Return who may have private links: everybody, or those who are listed."""
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
