"""Control characters inside of an argument's object or list, which JSON writes as escapes of its own."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain.approvals.shown import show_arguments

HIDDEN: dict[str, Any] = {
    "a value in a list": ["a\x1b[2Kb"],
    "a name": {"k\x07": 1},
    "a value deep inside": {"a": [{"b": "\r"}]},
    "behind a backslash": ["\\\x1b"],
    "backspaces": ["rm\b\b"],
}
CLEAN: dict[str, Any] = {
    "an escape that the model wrote in letters": ["\\u001b[2K"],
    "line breaks and tabs": ["a\nb\tc"],
    "a backslash": ["C:\\u001\\b", "\\\\r"],
    "quotes": ['"'],
}


@pytest.mark.parametrize("value", list(HIDDEN.values()), ids=list(HIDDEN))
def test_a_control_character_inside_of_an_argument_is_shown_with_a_warning(value: Any) -> None:
    shown, warnings = show_arguments({"more": value})
    assert warnings == ("argument more contains control or invisible characters, shown as escapes",)
    assert shown["more"].isprintable()


@pytest.mark.parametrize("value", list(CLEAN.values()), ids=list(CLEAN))
def test_what_only_looks_like_an_escape_has_no_warning(value: Any) -> None:
    """The positive control."""
    assert show_arguments({"more": value})[1] == ()
