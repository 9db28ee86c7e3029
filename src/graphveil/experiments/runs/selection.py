"""Kept results, selected, sorted, and found by what somebody calls them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphveil.errors import InputError
from graphveil.experiments.runs.records import Kept, latest
from graphveil.registry import unknown_name

# A tag starts with a letter, so that it is never taken for a number.
TAG = re.compile(r"[^\W\d_][\w.-]{0,63}")


@dataclass(frozen=True)
class Selection:
    """Which results are meant: any of these values in each of these fields; empty ones say nothing.

    Of the same experiment the last result is meant, unless ``earlier`` ones are too, or a number or a tag names one.
    """

    numbers: tuple[int, ...] = ()
    method: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    task: tuple[str, ...] = ()
    mechanism: tuple[str, ...] = ()
    backbone: tuple[str, ...] = ()
    epsilon: tuple[float, ...] = ()
    seed: tuple[int, ...] = ()
    tag: tuple[str, ...] = ()
    earlier: bool = False

    @property
    def chooses(self) -> bool:
        """Whether anything is said, so that not everything is meant."""
        return bool(self.numbers or self.tag or any(getattr(self, field) for field in FIELDS))

    def of(self, kept: Sequence[Kept]) -> list[Kept]:
        """The results that are meant, by their numbers. A number that no result has is refused."""
        known = {each.number for each in kept}
        if missing := [number for number in self.numbers if number not in known]:
            raise InputError(f"no result has the number {missing[0]}: `graphveil results` lists them")
        chosen = list(kept)
        if self.numbers:
            chosen = [each for each in kept if each.number in self.numbers]
        elif not self.earlier and not self.tag:
            chosen = last_ones(kept)
        return sorted((each for each in chosen if self._fits(each)), key=lambda each: each.number)

    def missing(self, kept: Sequence[Kept]) -> str:
        """Why nothing fits, where a value is one that no result has; empty where each has some."""
        for field in FIELDS:
            there = {getattr(each.record, field) for each in kept} - {None}
            for value in getattr(self, field):
                if value not in there:
                    known = ", ".join(map(_told, sorted(there))) or "none"
                    return f"no result has the {field} {_told(value)}: there are {known}"
        tags = {tag for each in kept for tag in each.tags}
        for tag in self.tag:
            if tag not in tags:
                return f"no result has the tag {tag}: there are {', '.join(sorted(tags)) or 'none'}"
        return ""

    def _fits(self, kept: Kept) -> bool:
        fields = all(
            not getattr(self, field) or getattr(kept.record, field) in getattr(self, field)
            for field in FIELDS
        )
        return fields and (not self.tag or bool(set(self.tag) & set(kept.tags)))


# Fields of a record that one can select by.
FIELDS = ("method", "data", "task", "mechanism", "backbone", "epsilon", "seed")


def _told(value: str | float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def last_ones(kept: Sequence[Kept]) -> list[Kept]:
    """One result an experiment, as `records.latest` chooses it."""
    chosen = {id(record) for record in latest([each.record for each in kept])}
    return [each for each in kept if id(each.record) in chosen]


@dataclass(frozen=True)
class Order:
    """What results are sorted by, and whether the largest comes first. What has no value comes last in any case."""

    key: Callable[[Kept], Any]
    largest_first: bool = False


ORDERS = {
    "number": Order(lambda kept: kept.number),
    "date": Order(lambda kept: kept.record.time, largest_first=True),
    "mean": Order(lambda kept: kept.record.mean, largest_first=True),
    "gain": Order(lambda kept: kept.record.gain and kept.record.gain.mean, largest_first=True),
    "gain-over-structure": Order(
        lambda kept: kept.record.gain_over_structure and kept.record.gain_over_structure.mean,
        largest_first=True,
    ),
    "epsilon": Order(lambda kept: kept.record.epsilon),
    "method": Order(lambda kept: kept.record.method),
    "data": Order(lambda kept: kept.record.data),
    "runs": Order(lambda kept: len(kept.record.runs), largest_first=True),
}


def ordered(kept: Sequence[Kept], by: str, backwards: bool = False) -> list[Kept]:
    """Results in an order of `ORDERS`; those that are alike stay as they were."""
    if by not in ORDERS:
        raise unknown_name("order", by, ORDERS)
    order = ORDERS[by]
    having = [each for each in kept if order.key(each) is not None]
    lacking = [each for each in kept if order.key(each) is None]
    return sorted(having, key=order.key, reverse=order.largest_first is not backwards) + lacking


def check_tag(name: str, kept: Sequence[Kept]) -> str:
    """Refuse a tag that could not be told from a number or from a method."""
    if not TAG.fullmatch(name):
        raise InputError(
            f"a tag has letters, digits, '.', '_' and '-', at most 64 and a letter first, got {name!r}: "
            "choose another name"
        )
    if name in {each.record.method for each in kept}:
        raise InputError(f"{name} is a method, so it cannot be a tag: choose another name")
    return name


def named(name: str, kept: Sequence[Kept], among: Selection) -> Kept:
    """The one result of that number, tag or method; where there are several, they must be narrowed down."""
    if name.isdecimal():
        (found,) = Selection(numbers=(int(name),)).of(kept)
        return found
    fitting = replace(among, tag=(name,)).of(kept)
    if not fitting:
        fitting = [each for each in among.of(kept) if each.record.method == name]
    if not fitting:
        known = sorted({tag for each in kept for tag in each.tags} | {each.record.method for each in kept})
        raise InputError(
            f"no result here has the number, the tag or the method {name!r}: there are {', '.join(known) or 'none'}; "
            "`graphveil results` lists them"
        )
    if len(fitting) > 1:
        numbers = ", ".join(str(each.number) for each in fitting)
        raise InputError(
            f"{name} may be any of the results {numbers}: name one by its number, or narrow them with --data, --epsilon and so on"
        )
    return fitting[0]
