"""The fingerprint of a tool's definition: what changes it, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from langchain_core.tools import BaseTool, tool
from langgraph.prebuilt import InjectedState
from pydantic import BaseModel, Field

from tests.support import Recorder
from toolgate_langchain import Tier, ToolCatalog, ToolProfile
from toolgate_langchain.catalog.remote import RemoteServer


class Plain(BaseModel):
    path: str


class Described(BaseModel):
    """Other words for the model."""

    path: str = Field(title="A path", description="Where to look.")


class Bounded(BaseModel):
    path: str = Field(max_length=10)


def a_tool(schema: Any, name: str = "act", **update: Any) -> BaseTool:
    return Recorder().tool(name, schema=schema).model_copy(update=update)


def local(schema: Any, name: str = "act", profile: ToolProfile | None = None, **update: Any) -> str:
    catalog = ToolCatalog()
    catalog.register(a_tool(schema, name, **update), profile)
    (entry,) = catalog.entries()
    return entry.fingerprint


def remote(
    schema: Any, *, server: RemoteServer | None = None, metadata: Mapping[str, Any] | None = None, **update: Any
) -> str:
    catalog = ToolCatalog()
    catalog.add_remote(server or RemoteServer("srv"), [a_tool(schema, metadata=dict(metadata or {}), **update)])
    (entry,) = catalog.entries()
    return entry.fingerprint


def of(*properties: str, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in properties}, **more}


def test_the_same_definition_has_the_same_fingerprint() -> None:
    """Also as another object, with its keys in another order, and in another process."""
    assert local(of("a", "b")) == local(of("b", "a")) == local(dict(reversed(of("a", "b").items())))
    assert local(of("a")) == "8053d152a321618cbe9441a612cced267bb777d1450ddb0c8212768326210902"


def test_a_local_tools_name_and_schema_change_it() -> None:
    prints = [
        local(of("a")),
        local(of("a"), "Act"),
        local(of("b")),
        local(of("a", "b")),
        local(of("a", required=["a"])),
        local(of("a", additionalProperties=False)),
        local(Plain),
        local(Bounded),
        remote(of("a")),
    ]
    assert len(set(prints)) == len(prints)


def test_a_local_tools_words_and_profile_do_not_change_it() -> None:
    assert local(Plain) == local(Described)
    assert local(of("a")) == local(of("a", title="T", description="D"), description="Other words.")
    assert local(of("a")) == local(of("a"), metadata={"readOnlyHint": True}, profile=ToolProfile(tier=Tier.READ_ONLY))


@pytest.mark.parametrize("word", ["title", "description"])
@pytest.mark.parametrize("place", ["properties", "$defs", "patternProperties"])
def test_a_property_or_definition_that_is_called_like_a_word_for_the_model_changes_it(place: str, word: str) -> None:
    def holding(kind: str) -> dict[str, Any]:
        return {"type": "object", place: {word: {"type": kind}}}

    assert local(holding("string")) != local(holding("integer"))
    nested_string, nested_integer = {"items": holding("string")}, {"items": holding("integer")}
    assert local(nested_string) != local(nested_integer)


@pytest.mark.parametrize("keyword", ["default", "const", "enum", "examples"])
def test_a_value_in_the_schema_changes_it_whatever_its_keys_are_called(keyword: str) -> None:
    def holding(text: str) -> dict[str, Any]:
        value = {"title": text}
        return {"properties": {"a": {keyword: [value] if keyword in ("enum", "examples") else value}}}

    assert local(holding("one")) != local(holding("two"))


def test_for_a_remote_tool_description_annotations_and_the_launch_identity_change_it_too() -> None:
    prints = [
        remote(of("a")),
        remote(of("a"), description="Other words."),
        remote({"type": "object", "properties": {"a": {"type": "string", "description": "Other words."}}}),
        remote(of("a"), metadata={"title": "T"}),
        remote(of("a"), metadata={"readOnlyHint": True}),
        remote(of("a"), metadata={"readOnlyHint": "True"}),
        remote(of("a"), metadata={"destructiveHint": True}),
        remote(of("a"), metadata={"idempotentHint": True}),
        remote(of("a"), metadata={"openWorldHint": True}),
        remote(of("a"), server=RemoteServer("other")),
        remote(of("a"), server=RemoteServer("srv", ("python", "server.py"))),
        remote(of("a"), server=RemoteServer("srv", ("python server.py",))),
    ]
    assert len(set(prints)) == len(prints)


def test_what_an_operator_writes_of_a_server_does_not_change_it() -> None:
    record = RemoteServer(
        "srv", declarations={"act": True}, profiles={"act": ToolProfile(tier=Tier.READ_ONLY)}, trust_hints=True
    )
    assert remote(of("a"), server=record) == remote(of("a"))
    assert remote(of("a"), metadata={"unrelated": 1}) == remote(of("a"))


def test_the_body_of_a_function_and_its_injected_parameters_do_not_change_it() -> None:
    @tool("act")
    def one(path: str) -> str:
        """Act."""
        return path

    @tool("act")
    def two(path: str, state: Annotated[dict[str, Any], InjectedState]) -> str:
        """Act otherwise."""
        return "" + path

    first, second = ToolCatalog.from_tools([one]).get("act"), ToolCatalog.from_tools([two]).get("act")
    assert first is not None and second is not None and first.fingerprint == second.fingerprint
