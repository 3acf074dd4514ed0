"""What the words in the launchers' options mean."""

import darter as dt

_FLOATS = {"f32": dt.f32, "bf16": dt.bf16}
_CODES = {"e4m3fn": dt.e4m3fn, "e4m3fnuz": dt.e4m3fnuz}
_LARGEST = {"e4m3fn": 448.0, "e4m3fnuz": 240.0}


def float_type(word):
    """Return the type that 'f32' or 'bf16' names.  Raises ``ValueError``."""
    return _meaning(_FLOATS, word, "dtype")


def code_type(word):
    """Return the type that 'e4m3fn' or 'e4m3fnuz' names.  Raises ``ValueError``."""
    return _meaning(_CODES, word, "fp8")


def largest_code(word):
    """Return the largest finite number of the fp8 encoding ``word``.  Raises ``ValueError``."""
    return _meaning(_LARGEST, word, "fp8")


def _meaning(table, word, name):
    if word not in table:
        raise ValueError(f"{name} is {word!r}; accepted: {', '.join(map(repr, table))}")
    return table[word]
