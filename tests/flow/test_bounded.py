"""Reading what a value comes from costs a bounded number of steps, and what is not looked at vouches for nothing."""

from __future__ import annotations

from typing import Any

import pytest

from toolgate_langchain.policy import held, history, matching, provenance
from toolgate_langchain.policy.choosing import Stakes
from toolgate_langchain.policy.history import History, ReadResult, ResultLabel, scalars
from toolgate_langchain.policy.provenance import Provenance

HARMLESS = Stakes(consequential=False, leaves_house=False)
FIELDS = ResultLabel(trusted_fields=frozenset({"id"}))


def listing(count: int) -> History:
    records = [{"id": f"id-{number}", "name": f"name {number}"} for number in range(count)]
    return History(results=(ReadResult("read_file", "", records, {}, FIELDS),), untrusted=True)


def vouched(read: History, count: int) -> list[bool]:
    known = Provenance(read, HARMLESS)
    return [known.of(f"id-{number}", "id", "delete_file").vouched for number in range(count)]


def test_a_call_with_many_values_after_much_was_read_is_asked_about_instead_of_looked_at_for_minutes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = 0

    def counted(text: str, value: Any) -> bool:
        nonlocal looked
        looked += 1
        return matching.mentions(text, value)

    monkeypatch.setattr(provenance, "mentions", counted)
    assert vouched(listing(50), 50) == [True] * 50
    said = vouched(listing(5_000), 200)
    assert True in said and said[-100:] == [False] * 100
    assert looked < 300_000


def test_a_value_in_a_long_list_is_found_without_looking_at_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(one: history.Scalar, value: Any, name: str) -> bool:
        nonlocal compared
        compared += 1
        return matching.is_value(one, value, name)

    monkeypatch.setattr(held, "is_value", counted)
    assert Provenance(listing(5_000), HARMLESS).of("id-4999", "id", "delete_file").vouched
    assert compared == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [("10.00", "10"), (10, "10.0"), ("http://A.example/", "a.example"), ("a  b", "a b"), (1.5, "1.50")],
)
def test_two_values_that_are_one_are_found_by_a_common_key(one: Any, other: Any) -> None:
    assert matching.same(one, other)
    assert set(matching.keys_of(one)) & set(matching.keys_of(other))


@pytest.mark.parametrize("value", [None, True, False])
def test_what_is_no_value_has_no_key(value: Any) -> None:
    assert list(matching.keys_of(value)) == []
    assert list(matching.keys_of("x"))


def test_objects_thousands_deep_have_short_paths_and_their_values_are_no_declared_fields() -> None:
    deep: dict[str, Any] = {"id": "id-0"}
    for _ in range(5_000):
        deep = {"id": "id-0", "inside": deep}
    found = list(scalars(deep))
    assert len(found) == 5_001
    assert sum(len(one.path) + len(one.ancestors) for one in found) < 10_000_000
    outer, inner = "inside." * 150 + "id", "inside." * 250 + "id"
    assert [one.path == outer for one in found].count(True) == 1
    assert inner not in {one.path for one in found}


def test_a_text_of_one_letter_is_looked_through_for_half_of_it_at_few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """`aaa` stands at every letter of `aaaaaa`, and alone nowhere."""
    looked = 0

    def counted(character: str) -> bool:
        nonlocal looked
        looked += 1
        return character.isalnum() or character == "_"

    monkeypatch.setattr(matching, "_in_word", counted)
    assert not matching.mentions("a" * 100_000, "a" * 50_000)
    assert matching.mentions("a" * 40_000 + " " + "a" * 50_000, "a" * 50_000)
    assert matching.mentions("ab " * 20 + "b-a", "a") and not matching.mentions("ab " * 20 + "b_a", "a")
    assert looked < 100
