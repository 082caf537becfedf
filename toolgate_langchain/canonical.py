"""One exact text for one value, and the digests made from it.

Rules, rejections, grants and requests are all bound to arguments by this text. It must therefore
keep apart whatever a tool could tell apart (`1`, `1.0`, `"1"`, `true`; `0.0` and `-0.0`; a missing
key and `null`) and put together what no tool can (the order of an object's keys).
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any, Final

from toolgate_langchain.errors import NotPlainJsonError

__all__ = ["MAX_CHARACTERS", "MAX_DEPTH", "canonical_json", "check_plain", "copy_plain", "digest"]

MAX_DEPTH: Final = 64
"""Levels of nesting. JSON parsers and our own recursion stay far from Python's limit (1,000)."""

MAX_CHARACTERS: Final = 4_000_000
"""Characters of all strings and keys of one value together; bounds the time spent on one call."""

MAX_NODES: Final = 200_000
"""Values (objects, lists, numbers, …) in one value together; bounds the time spent on one call."""

_INT64: Final = 2**63

_FEW: Final = 16
_SHORT: Final = 10_000
"""What an object may hold to be judged in one pass: far below the limits above."""

_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Any) -> str:
    """Return the canonical JSON text of a plain value.

    Keys are sorted at every depth, numbers keep their kind, and no Unicode normalisation is done.

    Args:
        value: A plain JSON value; call `check_plain` first on anything that comes from outside.

    Raises:
        NotPlainJsonError: If JSON cannot carry the value at all.
    """
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise NotPlainJsonError(f"cannot be written as JSON: {error}") from error


def digest(*parts: Any) -> str:
    """Return the SHA-256 of the canonical JSON array of `parts`, as 64 hexadecimal digits.

    One array rather than joined texts, so that no part can spill into its neighbour.
    """
    return hashlib.sha256(canonical_json(list(parts)).encode()).hexdigest()


def copy_plain(value: Any) -> Any:
    """Return a copy of a plain JSON value that shares no object or list with it."""
    if type(value) is dict:
        return {key: copy_plain(item) for key, item in value.items()}
    if type(value) is list:
        return [copy_plain(item) for item in value]
    return value


def check_plain(value: Any, *, where: str = "arguments") -> None:
    """Refuse what JSON, PostgreSQL, SQLite or JavaScript readers cannot carry exactly.

    Walks the value without recursion, so that depth costs an error and not a crash.

    Args:
        value: Any object.
        where: The name of the value, the start of the path in the message.

    Raises:
        NotPlainJsonError: For NaN and infinities, integers beyond 64 bits, lone surrogates, keys
            that are not strings, other Python types, and values too deep or too large to judge.
    """
    if _is_flat(value):
        return
    characters = nodes = 0
    pending: list[tuple[Any, str, int]] = [(value, where, 0)]
    while pending:
        item, path, depth = pending.pop()
        nodes += 1
        kind = type(item)
        if kind is str:
            characters += len(item)
            if not item.isascii():
                _check_text(item, path)
        elif kind is dict or kind is list:
            if depth >= MAX_DEPTH:
                raise NotPlainJsonError(f"{_short(path)}: nested deeper than {MAX_DEPTH} levels")
            if kind is list:
                pending.extend((child, f"{path}[{i}]", depth + 1) for i, child in enumerate(item))
            else:
                for key, child in item.items():
                    if type(key) is not str:
                        raise NotPlainJsonError(f"{_short(path)}: a key is {type(key).__name__}, not a string")
                    characters += len(key)
                    if not key.isascii():
                        _check_text(key, path)
                    pending.append((child, f"{path}.{key}" if len(path) < 200 else path, depth + 1))
        elif kind is float:
            if not math.isfinite(item):
                raise NotPlainJsonError(f"{_short(path)}: {item} is not a JSON number")
        elif kind is int:
            if not -_INT64 <= item < _INT64:
                raise NotPlainJsonError(f"{_short(path)}: an integer beyond 64 bits")
        elif item is not None and kind is not bool:
            raise NotPlainJsonError(f"{_short(path)}: {kind.__name__} is not a JSON type")
        if characters > MAX_CHARACTERS or nodes + len(pending) > MAX_NODES:
            raise NotPlainJsonError(
                f"{where}: larger than the gate judges ({MAX_CHARACTERS:,} characters, {MAX_NODES:,} values)"
            )


def _is_flat(value: Any) -> bool:
    """Whether a value is what most arguments are: an object of a few short ASCII strings and small integers."""
    if type(value) is not dict or len(value) > _FEW:
        return False
    for key, item in value.items():
        if type(key) is not str or not key.isascii() or len(key) > _SHORT:
            return False
        kind = type(item)
        if kind is str:
            if not item.isascii() or len(item) > _SHORT:
                return False
        elif kind is int:
            if not -_INT64 <= item < _INT64:
                return False
        elif kind is not bool and item is not None:
            return False
    return True


def _check_text(text: str, path: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise NotPlainJsonError(f"{_short(path)}: a lone surrogate, which is not a character") from None


def _short(path: str) -> str:
    return path if len(path) <= 120 else f"{path[:117]}..."
