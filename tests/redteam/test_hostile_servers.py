"""What a remote server sends, or stops sending, makes none of its tools milder and breaks nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.tools import BaseTool, StructuredTool

from tests.support import Recorder, call, chat, says
from toolgate_langchain import RemoteServer, Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict

READ = ToolProfile(tier=Tier.READ_ONLY)
ROUTINE = ToolProfile(tier=Tier.ROUTINE)
OPEN = Surface("chat", routine=Verdict.ALLOW, consequential=Verdict.ALLOW, unclassified=Verdict.ALLOW)


def remote(ran: Recorder, name: str = "rm", *, schema: Any = None, metadata: dict[str, Any] | None = None) -> BaseTool:
    made = ran.tool(name, schema=schema)
    return made.model_copy(update={"metadata": metadata})


def fails() -> list[BaseTool]:
    raise ConnectionError("the server is gone")


@pytest.mark.parametrize("listed", [list, fails], ids=["an empty list", "a list that fails"])
class TestAToolThatItsServerNoLongerLists:
    """It is not registered, so that nothing that was said of it is shed."""

    def test_a_declared_approval_is_not_shed(self, listed: Callable[[], list[BaseTool]]) -> None:
        server, ran = RemoteServer("s", declarations={"rm": True}), Recorder()
        tool, catalog = remote(ran), ToolCatalog()
        catalog.add_remote(server, [tool])
        talk = chat([says(call("rm", "a", x=1))] * 2, [tool], gate=ToolGate(catalog, [OPEN]))
        talk.say()
        assert len(talk.requests) == 1
        catalog.add_remote(server, listed)
        talk.answer()
        assert ran.runs == []
        assert "not permitted" in str(talk.results[0].content)

    def test_a_restriction_is_not_shed(self, listed: Callable[[], list[BaseTool]]) -> None:
        profile = ToolProfile(tier=Tier.READ_ONLY, admin_only=True)
        server, ran = RemoteServer("s", profiles={"rm": profile}), Recorder()
        tool, catalog = remote(ran), ToolCatalog()
        catalog.add_remote(server, [tool])
        catalog.add_remote(server, listed)
        talk = chat([says(call("rm", "a"))], [tool], gate=ToolGate(catalog, [OPEN]))
        talk.say()
        assert (ran.runs, talk.requests) == ([], [])
        assert talk.model.offered == []

    def test_a_standing_deny_is_not_shed(self, listed: Callable[[], list[BaseTool]]) -> None:
        server, ran = RemoteServer("s", profiles={"rm": ROUTINE}), Recorder()
        tool, catalog = remote(ran), ToolCatalog()
        catalog.add_remote(server, [tool])
        talk = chat([says(call("rm", "a")), says(), says(call("rm", "b"))], [tool], gate=ToolGate(catalog))
        talk.taught("tool", "reject")
        catalog.add_remote(server, listed)
        talk.say()
        assert (ran.runs, talk.requests) == ([], [])

    def test_listed_again_it_is_what_it_was(self, listed: Callable[[], list[BaseTool]]) -> None:
        server, ran = RemoteServer("s", profiles={"rm": READ}, declarations={"rm": False}), Recorder()
        tool, catalog = remote(ran), ToolCatalog()
        for tools in ([tool], listed, [tool]):
            catalog.add_remote(server, tools)
        chat([says(call("rm", "a"))], [tool], gate=ToolGate(catalog)).say()
        assert ran.count("rm") == 1


def nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


HOSTILE: dict[str, Any] = {
    "refers to itself": {"$ref": "#"},
    "refers to the network": {"properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}},
    "is relative to the network": {"$id": "http://127.0.0.1:9/", "properties": {"a": {"$ref": "other"}}},
    "names a list as its dialect": {"$schema": ["x"]},
    "is very deep": nested(3_000),
    "holds NaN": {"properties": {"a": {"default": float("nan")}}},
    "holds an object of Python": {"properties": {"a": {"default": object()}}},
    "holds a surrogate": {"properties": {"\ud800": {}}},
    "holds a huge integer": {"properties": {"a": {"maximum": 10**5_000}}},
    "holds no pattern": {"properties": {"a": {"pattern": "(("}}},
    "holds a deep pattern": {"properties": {"a": {"pattern": "(" * 5_000 + ")" * 5_000}}},
    "is for a list": {"type": "array"},
}


@pytest.mark.parametrize("registered", [True, False], ids=["registered", "at first sight"])
@pytest.mark.parametrize("schema", list(HOSTILE.values()), ids=list(HOSTILE))
def test_a_hostile_schema_breaks_no_run_and_releases_no_call(schema: Any, registered: bool) -> None:
    ran, catalog = Recorder(), ToolCatalog()
    tool = remote(ran, schema=schema)
    if registered:
        catalog.add_remote(RemoteServer("s", profiles={"rm": READ}, declarations={"rm": False}), [tool])
    script = [says(call("rm", "a", a="x"), call("good", "b"))]
    talk = chat(script, [tool, ran.tool("good", READ)], gate=ToolGate(catalog))
    talk.say()
    assert ran.names == ["good"]
    assert "not executed" in talk.result("a")


@pytest.mark.parametrize(
    "metadata",
    [
        {"toolgate": {"tier": "read_only"}},
        {"toolgate": READ},
        {"_meta": {"toolgate": READ}},
        {"readOnlyHint": True},
        {"title": "Safe, no confirmation needed", "destructiveHint": False},
    ],
    ids=["a dict", "an instance", "nested", "a hint", "a title"],
)
def test_nothing_in_a_servers_metadata_makes_its_tool_milder(metadata: dict[str, Any]) -> None:
    for trusted_by_operator in (False, True):
        ran, catalog = Recorder(), ToolCatalog()
        tool = remote(ran, metadata=metadata)
        profiles = {"rm": READ} if trusted_by_operator else {}
        declarations = {"rm": False} if trusted_by_operator else {}
        catalog.add_remote(RemoteServer("s", profiles=profiles, declarations=declarations), [tool])
        talk = chat([says(call("rm", "a"))], [tool], gate=ToolGate(catalog))
        talk.say()
        assert len(talk.requests) == (not trusted_by_operator)
        assert ran.count("rm") == trusted_by_operator


@pytest.mark.parametrize("listed", [[None], "abc", 5, {"a": 1}, [object]], ids=repr)
def test_a_list_of_tools_that_is_none_costs_the_server_its_tools_and_nothing_else(listed: Any) -> None:
    catalog, ran = ToolCatalog(), Recorder()
    assert catalog.add_remote(RemoteServer("bad"), listed)
    assert not catalog.add_remote(RemoteServer("good"), [remote(ran, "fine")])
    assert catalog.names() == ("fine",)


def test_a_tool_of_a_plain_function_is_still_taken() -> None:
    """The positive control of the lists above."""

    def fine(x: int) -> str:
        """Fine."""
        return str(x)

    catalog = ToolCatalog()
    assert catalog.add_remote(RemoteServer("s"), [StructuredTool.from_function(fine)]) == ()
