"""`1.500` and `1,500`: one and a half to some people, fifteen hundred to others."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain.policy.choosing import Stakes
from toolgate_langchain.policy.history import History, ReadResult, ResultLabel
from toolgate_langchain.policy.matching import mentions
from toolgate_langchain.policy.naming import said_by_person
from toolgate_langchain.policy.provenance import Provenance
from toolgate_langchain.policy.tokens import readings

HARMLESS = Stakes(consequential=False, leaves_house=False)


@pytest.mark.parametrize("written", ["1.500", "1,500", "$1.500", "€1.500", "€1,500", "'1,500'"])
@pytest.mark.parametrize("value", [1.5, 1500, 1500.0, "1500", "1.5"])
def test_a_number_with_two_readings_in_the_persons_words_vouches_for_neither(written: str, value: Any) -> None:
    assert not said_by_person(value, "amount", [f"Transfer {written} to Ada"])


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1.50", 1.5),
        ("1500", 1500),
        ("1,500.00", 1500),
        ("$1,500", 1500),
        ("£30,000", 30_000),
        ("1,500,000", 1_500_000),
        ("0.500", 0.5),
        ("1500.125", 1500.125),
    ],
)
def test_a_number_that_everybody_reads_alike_vouches(written: str, value: float) -> None:
    assert said_by_person(value, "amount", [f"Transfer {written} to Ada"])


def test_a_text_that_the_person_quoted_is_that_text_whatever_it_means() -> None:
    assert said_by_person("1.500", "title", ["Call it '1.500'"])
    assert not said_by_person("1,500", "title", ["Call it '1.500'"])


@pytest.mark.parametrize("written", ["1.500", "1,500"])
@pytest.mark.parametrize("value", [1.5, 1500, "1,500", "1.500", "1500"])
def test_both_readings_speak_against_a_value(written: str, value: Any) -> None:
    assert mentions(f"send {written} today", value)
    assert not mentions("send 15,000 today", value)


def _amount(given: Any, value: Any, *, label: ResultLabel, **arguments: Any) -> bool:
    read = ReadResult("read_amount", "", {"amount": given}, arguments, label)
    return Provenance(History(results=(read,), untrusted=True), HARMLESS).of(value, "amount", "send_amount").vouched


@pytest.mark.parametrize("label", [ResultLabel(True), ResultLabel(trusted_fields=frozenset({"amount"}))])
def test_a_text_with_two_readings_in_trusted_data_vouches_for_no_number(label: ResultLabel) -> None:
    for given in ("1.500", "1,500"):
        assert not _amount(given, 1.5, label=label) and not _amount(given, 1500, label=label)
        assert _amount(given, given, label=label), "for the text itself it does"
    assert _amount(1500, 1500.0, label=label) and _amount("1500.00", 1500, label=label)


def test_what_a_call_may_have_said_itself_is_no_result() -> None:
    assert not _amount(1500, 1500, label=ResultLabel(True), note="about 1.500 or so")
    assert _amount(1500, 1500, label=ResultLabel(True), note="about 15 or so")


@pytest.mark.parametrize("text", ["007", "1.500.000", "x", "1,50", ""])
def test_what_is_no_number_has_no_reading(text: str) -> None:
    assert readings(text) == frozenset()
    assert readings("-1.500") == {"-1.5", "-1500"} and readings("15") == {"15"}
