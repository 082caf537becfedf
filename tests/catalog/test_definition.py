"""What a person is told of a changed definition."""

from __future__ import annotations

import time
from typing import Any

import pytest

from toolgate_langchain.catalog.definition import Definition, RemoteDefinition


def definition(
    description: str = "Reads.", schema: Any = None, launch: tuple[str, ...] = ("run",), **annotations: str
) -> Definition:
    return Definition("act", "server:srv", schema, RemoteDefinition(description, annotations, launch))


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_the_same_definition_has_no_changes() -> None:
    assert definition(schema=schema(a={}), title="'T'").changes_from(definition(schema=schema(a={}), title="'T'")) == ""


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (definition(), definition("Writes."), 'description was "Reads.", is "Writes."'),
        (definition(title="'A'"), definition(), "title was 'A', is not given"),
        (definition(), definition(launch=("secret",)), "the server is launched or reached in another way"),
        (definition(schema=schema()), definition(schema=schema(a={"type": "string"})), 'argument "a" is new'),
        (definition(schema=schema(a={})), definition(schema=schema()), 'argument "a" is gone'),
        (definition(schema=schema(a={"type": "null"})), definition(schema=schema(a={})), 'argument "a" was'),
        (definition(schema=schema()), definition(schema={**schema(), "required": ["a"]}), "the rest of its schema was"),
        (definition(schema=None), definition(schema=schema()), "the rest of its schema was null, is"),
        (definition(schema={"properties": ["a"]}), definition(schema={"properties": []}), "the rest of its schema was"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_thing_that_changed_is_told_and_of_the_launch_identity_only_that_it_did(
    before: Definition, after: Definition, told: str
) -> None:
    assert told in after.changes_from(before)
    assert "secret" not in after.changes_from(before)
    assert after.fingerprint != before.fingerprint


def test_several_changes_are_told_together() -> None:
    told = definition("Writes.", schema(b={}), title="'T'").changes_from(definition("Reads.", schema(a={})))
    assert told.count("; ") == 3


def test_a_change_at_the_end_of_long_words_is_seen_in_little_text_and_little_time() -> None:
    long = "Reads. " * 500_000
    started = time.perf_counter()
    told = definition(long + "Then deletes.").changes_from(definition(long + "Nothing else."))
    assert "Then deletes." in told and "Nothing else." in told and len(told) < 1_000
    assert time.perf_counter() - started < 2
