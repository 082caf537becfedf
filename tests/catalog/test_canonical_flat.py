"""Most values are plain at one glance; the glance says nothing that the long walk would not say."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate_langchain.canonical import MAX_CHARACTERS, MAX_DEPTH, MAX_NODES, _is_flat, check_plain
from toolgate_langchain.errors import NotPlainJsonError

_quick = settings(deadline=None, database=None, max_examples=400)


class Text(str):
    __slots__ = ()


class Number(IntEnum):
    ONE = 1


class Mapped(dict[Any, Any]):
    pass


def walked(value: Any) -> bool:
    """Whether the long walk takes a value: in a list it is never flat."""
    try:
        check_plain([value])
    except NotPlainJsonError:
        return False
    return True


def taken(value: Any) -> bool:
    try:
        check_plain(value)
    except NotPlainJsonError:
        return False
    return True


KEYS = st.sampled_from(["a", "b", "", "k" * 10_000, "k" * 10_001]) | st.text(max_size=3)
ODD_KEYS = st.sampled_from(["é", "\ud800", Text("t"), 1, None, b"a", True])
ITEMS = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=3),
    st.sampled_from(["x" * 10_000, "x" * 10_001, "\ud800", "\x00", Text("a")]),
    st.integers(-9, 9),
    st.sampled_from([2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**30, Number.ONE]),
    st.floats(),
    st.sampled_from([[], ["a"], {}, {"a": 1}, Mapped(), (1,), b"a", {1}, object(), 1j]),
)
OBJECTS: st.SearchStrategy[dict[Any, Any]] = st.dictionaries(st.one_of(KEYS, KEYS, KEYS, ODD_KEYS), ITEMS, max_size=20)


@_quick
@given(OBJECTS | ITEMS | OBJECTS.map(Mapped))
def test_what_is_plain_at_one_glance_is_plain_on_the_long_walk(value: Any) -> None:
    assert taken(value) == walked(value)
    if _is_flat(value):
        assert walked(value)


@_quick
@given(
    st.dictionaries(
        st.text(st.characters(max_codepoint=127), max_size=5),
        st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.text(st.characters(max_codepoint=127)),
        max_size=16,
    )
)
def test_a_few_short_texts_and_small_integers_are_plain_at_one_glance(value: dict[str, Any]) -> None:
    assert _is_flat(value)


def many(number: int) -> dict[str, Any]:
    return {f"k{one}": one for one in range(number)}


@pytest.mark.parametrize(
    ("at_once", "not_at_once"),
    [
        (many(16), many(17)),
        ({"a": "x" * 10_000}, {"a": "x" * 10_001}),
        ({"k" * 10_000: 1}, {"k" * 10_001: 1}),
        ({"a": 2**63 - 1}, {"a": 2**63}),
        ({"a": -(2**63)}, {"a": -(2**63) - 1}),
        ({"a": "~"}, {"a": "é"}),
        ({"a": 1}, {"é": 1}),
        ({"a": 1}, {Text("a"): 1}),
        ({"a": 1}, {"a": Number.ONE}),
        ({"a": "a"}, {"a": Text("a")}),
        ({"a": None}, {"a": 0.0}),
        ({"a": True}, {"a": []}),
        ({}, []),
        ({}, Mapped()),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_the_glance_ends_where_it_could_not_tell(at_once: Any, not_at_once: Any) -> None:
    assert (_is_flat(at_once), _is_flat(not_at_once)) == (True, False)
    assert walked(at_once)


def nested(depth: int) -> Any:
    value: Any = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    ("fits", "does_not"),
    [
        (nested(MAX_DEPTH - 1), nested(MAX_DEPTH)),
        ({"a": "x" * (MAX_CHARACTERS - 1)}, {"a": "x" * MAX_CHARACTERS}),
        ({"a": [0] * (MAX_NODES - 2)}, {"a": [0] * (MAX_NODES - 1)}),
    ],
    ids=["depth", "characters", "values"],
)
def test_the_limits_of_what_is_judged_hold_to_the_last_one(fits: Any, does_not: Any) -> None:
    assert (taken(fits), taken(does_not)) == (True, False)
    assert not _is_flat(fits)
