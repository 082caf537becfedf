"""When two values are one, what tells a record from another, and when a text speaks of a value at all."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain.policy.history import MAX_READ, Scalar
from toolgate_langchain.policy.matching import can_name, is_id, is_value, mentions, of_one_kind, same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("plans.docx", "plans.docx"),
        (" two   words ", "two words"),
        (10, "10.00"),
        (10.0, 10),
        ("1,000", 1000),
        (2.50, "2.5"),
        (1e20, "100000000000000000000"),
        ("Ada@X.org", "ada@x.org"),
        ("https://www.a.example/b/", "a.example/b"),
    ],
)
def test_values_that_say_the_same_are_one(one: Any, other: Any) -> None:
    assert same(one, other) and same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (True, True), (True, "True"), (False, "False"), (True, 1), (None, None), (None, "None"), ("", ""), (" ", ""),
        ("Plans.docx", "plans.docx!"), ("plans", "Plans"), (10, 11), ("10", "ten"), ("ada@x.org", "eve@x.org"),
        ("a.example/b", "a.example/c"), ("a.example/b", "words"), (1, "1 x"),
        (float("inf"), "x"),
    ],
)  # fmt: skip
def test_what_says_nothing_and_what_says_something_else_is_not_one(one: Any, other: Any) -> None:
    """Neither yes, no, nothing nor an empty text tells one thing from another."""
    assert not same(one, other) and not same(other, one)


def test_a_number_is_the_one_of_an_argument_only_where_both_are_called_alike() -> None:
    assert is_value(Scalar(5, "file.id", 0), 5, "file_id")
    assert not is_value(Scalar(5, "total", 0), 5, "file_id")
    assert is_value(Scalar("plans.docx", "total", 0), "plans.docx", "file_id")
    assert not is_value(Scalar("other.docx", "file_id", 0), "plans.docx", "file_id")


@pytest.mark.parametrize(
    ("value", "name", "numbers_something"),
    [
        (13, "file_id", True), ("13", "file_id", True), ("13", "file", True), (13, "amount", False),
        (True, "file_id", False), (1.0, "file_id", False), (None, "file_id", False), ("x13", "file_id", False),
        ([13], "file_id", False),
    ],
)  # fmt: skip
def test_a_number_in_a_text_or_called_an_id_says_nothing_without_its_kind(
    value: Any, name: str, numbers_something: bool
) -> None:
    assert is_id(value, name) is numbers_something


@pytest.mark.parametrize(
    ("name", "tool", "other", "alike"),
    [
        ("file_id", "delete_item", "list_files", True),
        ("id", "delete_file", "list_files", True),
        ("file_id", "delete_file", "list_events", False),
        ("id", "delete", "get_id", False),
        ("id", "delete_file", "delete_event", False),
    ],
)
def test_two_tools_are_of_one_kind_by_a_word_that_is_no_verb(name: str, tool: str, other: str, alike: bool) -> None:
    assert of_one_kind(name, tool, other) is alike


@pytest.mark.parametrize("value", ["plan", "plans.docx", "x" * 300])
def test_a_text_of_some_length_can_name_a_record(value: str) -> None:
    assert can_name(value)


@pytest.mark.parametrize(
    "value", ["pla", "", "x" * 301, "12345", "1,000.00", "2026-01-02", 12345, True, None, ["plans"]]
)
def test_what_is_too_short_too_long_or_a_number_or_a_day_cannot(value: Any) -> None:
    assert not can_name(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("delete plans.docx now", "plans.docx"),
        ("delete PLANS.DOCX", "plans.docx"),
        ("delete 'the   plans'", "the plans"),
        ("pay 1,000 today", 1000),
        ("see https://www.a.example/b/.", "a.example/b"),
        ("on January 2", "2026-01-02"),
        ("see a.de/b", "https://www.a.de/b"),
        ("pay to AB12-3456", "AB123456"),
        ("to DE89 3704 0044 0532 0130 00", "DE89370400440532013000"),
    ],
)
def test_a_text_speaks_of_what_stands_in_it_by_itself(text: str, value: Any) -> None:
    assert mentions(text, value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("delete plans", "lans"), ("delete plans", "plan"), ("pay 1,000", 100), ("pay 10001", 1000),
        ("any text at all", ""), ("any text at all", "  "),
        ("a, b", ""), ("to get her", "together"), ("on January 3", "2026-01-02"), ("my_plans", "plans"),
        ("see a.de/bc", "a.de/b"),
    ],
)  # fmt: skip
def test_and_not_of_what_is_a_part_of_something_else(text: str, value: Any) -> None:
    assert not mentions(text, value)


def test_of_a_text_that_is_too_long_to_be_read_it_is_taken_to_speak() -> None:
    assert mentions("x" * (MAX_READ + 1), "plans.docx")
    assert not mentions("x" * MAX_READ, "plans.docx")
