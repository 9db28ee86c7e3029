"""The errors and warnings that graphveil raises on purpose.

    GraphveilError
    ├── InputError          a value that was given is wrong (also a ValueError)
    │   ├── MessageError    a report message is damaged, truncated or of another mechanism
    │   └── UnknownNameError  nothing has that name
    ├── ClaimError          a channel does not keep the privacy that it claims
    ├── BudgetError         a plan would overdraw somebody's privacy budget
    ├── PrivacyError        private data was asked for other than by a report
    ├── RefusalError        a device does not answer what it is asked; its reason is a word
    ├── EngineError         a computing process or cluster cannot be reached, was lost, or gives other numbers
    ├── ServerError         a collector cannot be reached, or does not do what it was asked
    └── StoreError          a file of results or of a device cannot be read or written

    GraphveilWarning
    └── ClippedWarning      values outside the public range were clipped on the client

Every message says what was wrong, what was expected, and what to do. What can be given on the command line is named as its option
(--link-epsilon): that is what the command line shows, and Python code reads the argument in its place (link_epsilon).
"""

from __future__ import annotations

import json
import re

# Characters that a terminal or a page obeys and does not show: controls, line and paragraph separators, what turns the direction of
# writing, what takes no space, halves of characters. Marks of Arabic numbers are format characters of Unicode too, and can be seen.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ud800-\udfff\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)

# A command in backticks, a setting, or an option, with several values behind it or without.
_OPTION = re.compile(
    r"(?P<command>`[^`]*`)|(?<![^\s(])--set (?P<key>[\w.]+)=(?P<value>[^\s,;:]+)"
    r"|(?<![^\s(])--(?P<name>[a-z]+(?:-[a-z]+)*)(?: (?P<values>[^\s,]+(?:,[^\s,;:]+)+))?"
)


def visible(text: str) -> str:
    """Return a text in which everything can be seen: what could not is written as JSON escapes it, so that JSON stays the same JSON.

    Whatever somebody else wrote passes here before it is shown, in an error, on a terminal, on a page or in a log.

    >>> print(visible("gone\\x1b[2K\\u202e, see\\nbelow"))
    gone\\u001b[2K\\u202e, see\\nbelow
    """
    return _HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], text)


def visible_lines(text: str) -> str:
    """Return a text with each line made visible, for pages and figures, where a new line forges nothing."""
    return "\n".join(map(visible, text.split("\n")))


def option_name(argument: str) -> str:
    """Return the option of an argument, as messages name it.

    >>> option_name("link_epsilon")
    '--link-epsilon'
    """
    return "--" + argument.replace("_", "-")


def python_words(message: str) -> str:
    """Return a message with Python arguments instead of options; text in backticks is left as it is.

    >>> python_words("give a larger --link-epsilon, or --set data.users=400: see `graphveil run --help`")
    'give a larger link_epsilon, or settings={"data.users": 400}: see `graphveil run --help`'
    >>> python_words("give --range LOW,HIGH, or leave --epsilon out")
    'give range=(LOW, HIGH), or leave epsilon out'
    """

    def argument(found: re.Match[str]) -> str:
        if found["command"]:
            return found["command"]
        if found["key"]:
            return f'settings={{"{found["key"]}": {found["value"]}}}'
        name = found["name"].replace("-", "_")
        return f"{name}=({found['values'].replace(',', ', ')})" if found["values"] else name

    return _OPTION.sub(argument, message)


class GraphveilError(Exception):
    """The root of all errors that graphveil raises on purpose."""

    def __str__(self) -> str:
        return python_words(self.as_written)

    @property
    def as_written(self) -> str:
        """The message in one line, with the options of the command line."""
        return visible(str(self.args[-1])) if self.args else ""


class InputError(GraphveilError, ValueError):
    """A value that was given is wrong."""


class MessageError(InputError):
    """A report message is damaged, truncated, or belongs to another mechanism."""


class UnknownNameError(InputError):
    """Nothing has that name."""


class ClaimError(GraphveilError):
    """A channel does not keep the privacy that it claims."""


class BudgetError(GraphveilError):
    """A plan would overdraw somebody's privacy budget."""


class PrivacyError(GraphveilError):
    """Private data was asked for other than by a report."""


class RefusalError(GraphveilError):
    """A device does not answer what it is asked: ``reason`` is one word, which the plan and public books alone decide."""

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(reason, sentence)
        self.reason = reason


class EngineError(GraphveilError):
    """A computing process or cluster cannot be reached, was lost, or would give other numbers."""


class ServerError(GraphveilError):
    """A collector cannot be reached (status 0), or does not do what it was asked."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(status, sentence)
        self.status = status


class StoreError(GraphveilError):
    """A file of results or of a device cannot be read or written."""


class GraphveilWarning(UserWarning):
    """The root of all warnings."""


class ClippedWarning(GraphveilWarning):
    """Values outside the public range were clipped on the client."""
