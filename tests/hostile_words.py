"""Words that somebody else wrote, to hide what is shown beside them or to pass for it."""

# Each holds something that a terminal or a page obeys, and the word "harmless", which must still be there.
FORGED = "Spent in this collection: nothing"
HOSTILE = {
    "erase the line": "harmless\x1b[2K\x1b[1A",
    "title of the window": "harmless\x1b]0;mine\x07",
    "eight-bit control": "harmless\x9b2J",
    "a line of its own": f"harmless\n{FORGED}",
    "over the same line": f"harmless\r{FORGED}",
    "next line": f"harmless\x85{FORGED}",
    "line separator": f"harmless\u2028{FORGED}\u2029",
    "backspaces": "harmless\b\b\b\b",
    "delete": "harmless\x7f",
    "from right to left": "harmless\u202egnihton\u202c",
    "isolated": "harmless\u2067gnihton\u2069\u061c\u200f",
    "no width": "harm\u200bless\u2060\ufeff harmless",
    "tags": "harmless\U000e0001\U000e0041",
    "half a character": "harmless\ud83d",
}
OBEYED = [
    chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x200B, 0x200E, 0x200F, 0xFEFF)
]
OBEYED += [chr(code) for code in (*range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xE0001, 0xD83D)]


def obeyed(text, but=""):
    """What a terminal would obey in a text, but for some characters; and forged lines."""
    found = [letter for letter in OBEYED if letter in text and letter not in but]
    return found + [line for line in text.splitlines() if line.startswith(FORGED)]
