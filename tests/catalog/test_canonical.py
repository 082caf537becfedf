"""Canonical JSON: one exact text for one value, different texts for values that a tool could tell apart."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolgate_langchain.canonical import canonical_json, check_plain, digest
from toolgate_langchain.errors import NotPlainJsonError

_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
)
PLAIN = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)
_quick = settings(deadline=None, database=None, max_examples=300)


def same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON value, kinds of numbers kept apart."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    return bool(one == other)


def turned(value: Any) -> Any:
    """The value with the keys of every object in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(item) for key, item in reversed(value.items())}
    return [turned(item) for item in value] if isinstance(value, list) else value


@_quick
@given(PLAIN)
def test_the_order_of_keys_at_any_depth_does_not_matter(value: Any) -> None:
    assert canonical_json(value) == canonical_json(turned(value))
    assert digest(value) == digest(turned(value))


@_quick
@given(PLAIN)
def test_the_text_read_back_is_the_value(value: Any) -> None:
    check_plain(value)
    assert same(json.loads(canonical_json(value)), value)


@_quick
@given(PLAIN, PLAIN)
def test_two_texts_are_equal_only_for_the_same_value(one: Any, other: Any) -> None:
    assert (canonical_json(one) == canonical_json(other)) is same(one, other)


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"a": [value]}], ids=["bare", "nested"])
def test_1_and_1_0_and_text_and_true_and_both_zeros_all_differ(wrap: Any) -> None:
    values = [1, 1.0, "1", True, 0, 0.0, -0.0, False, "0", None, "null", "", [], {}, [None], {"": None}, "true", "-0.0"]
    assert len({canonical_json(wrap(value)) for value in values}) == len(values)
    assert len({digest(wrap(value)) for value in values}) == len(values)


def test_list_order_a_missing_key_and_null_differ_and_nothing_is_normalised() -> None:
    assert canonical_json([1, 2]) != canonical_json([2, 1])
    assert canonical_json({}) != canonical_json({"a": None})
    assert canonical_json("\u00e9") != canonical_json("e\u0301")
    assert canonical_json("\ufb01") != canonical_json("fi")


@_quick
@given(st.lists(PLAIN, max_size=4), st.lists(PLAIN, max_size=4))
def test_no_part_of_a_digest_spills_into_its_neighbour(one: list[Any], other: list[Any]) -> None:
    assert (digest(*one) == digest(*other)) is same(one, other)


def test_a_digest_is_the_same_in_every_process() -> None:
    assert digest("a", {"b": [1, 1.0, None]}) == "b5f79ad45f23ff15d121a924238a16ff34ac2e8178404153864b50d8b1da3397"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2, "a": 3}, object, {"a": {1}}], ids=repr)
def test_what_json_cannot_carry_is_an_error_and_not_a_guess(value: Any) -> None:
    with pytest.raises(NotPlainJsonError, match="cannot be written as JSON"):
        canonical_json(value)
    with pytest.raises(NotPlainJsonError, match="arguments"):
        check_plain(value)


def test_the_place_of_a_fault_is_named() -> None:
    with pytest.raises(NotPlainJsonError, match=r"^arguments\.a\[1\]\.b: nan is not a JSON number$"):
        check_plain({"a": [0, {"b": float("nan")}]})
