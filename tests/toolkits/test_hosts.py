"""On every host a person sees what was looked up, the tool gets it, and the caller is the one of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from tests.support import call, says
from tests.toolkits.conftest import ANN, BOB
from toolgate_langchain import Caller, ResourcePolicy, Surface, ToolGate
from toolgate_langchain.hosts.toolkits import FileResources
from toolgate_langchain.testing import all_hosts
from toolgate_langchain.testing.hosts import Conversation, Host, Setup

HOSTS = all_hosts()
POLICY = ResourcePolicy(denied=["private"], rights={"ann": ["docs", "top.txt", "private"]}, separator="/")


def talk(host: Host, file_tools: list[BaseTool], root: Path, caller: Caller | None) -> Conversation:
    resources = FileResources(root, POLICY)
    script = [
        says(
            call("write_file", "c1", file_path="private/key.txt", text="x"),
            call("read_file", "c2", file_path="docs/inside"),
        ),
        says(call("write_file", "c3", file_path="docs/inside", text="new")),
        says(text="done"),
    ]
    gate = ToolGate(surfaces=[Surface("chat")], argument_policies=[resources])
    conversation = host.start(
        Setup(gate=gate, script=script, tools=resources.tools(file_tools), surface="chat", caller=caller)
    )
    conversation.say("go")
    return conversation


def results(conversation: Conversation) -> dict[str, str]:
    return {one.tool_call_id: str(one.content) for one in conversation.messages if isinstance(one, ToolMessage)}


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_what_is_looked_up_is_shown_and_runs_for_the_caller(host: Host, file_tools: list[BaseTool], root: Path) -> None:
    conversation = talk(host, file_tools, root, ANN)
    (request,) = conversation.requests
    assert request.arguments["file_path"] == str(root / "top.txt")
    conversation.answer({"type": "approve", "request_id": request.request_id})
    said = results(conversation)
    assert said["c1"] == "The call of 'write_file' was not executed. It is not permitted here."
    assert said["c2"] == "this is top.txt"
    assert (root / "top.txt").read_text() == "new"


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
@pytest.mark.parametrize("caller", [BOB, None], ids=str)
def test_who_has_no_right_gets_nothing_and_nobody_is_asked(
    host: Host, caller: Caller | None, file_tools: list[BaseTool], root: Path
) -> None:
    conversation = talk(host, file_tools, root, caller)
    assert conversation.requests == []
    assert {text.partition("' ")[2] for text in results(conversation).values()} == {
        "was not executed. It is not permitted here."
    }


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_a_link_that_was_moved_while_the_question_was_open_is_refused(
    host: Host, file_tools: list[BaseTool], root: Path
) -> None:
    conversation = talk(host, file_tools, root, ANN)
    (request,) = conversation.requests
    (root / "docs/inside").unlink()
    (root / "docs/inside").symlink_to(root / "docs/a.txt")
    conversation.answer({"type": "approve", "request_id": request.request_id})
    assert "no longer the same" in results(conversation)["c3"]
    assert (root / "docs/a.txt").read_text() == "this is docs/a.txt"
    assert (root / "top.txt").read_text() == "this is top.txt"


@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_a_denied_file_answers_exactly_like_one_that_does_not_exist(
    host: Host, file_tools: list[BaseTool], root: Path
) -> None:
    """Same text, same shape, same code to the model; and of the one beside them the content."""
    resources = FileResources(root, POLICY)
    paths = {
        "denied": "private/key.txt",
        "missing": "docs/nothing.txt",
        "no right": "pay/may.txt",
        "right": "docs/a.txt",
    }
    script = [says(*[call("read_file", name, file_path=path) for name, path in paths.items()]), says(text="done")]
    gate = ToolGate(surfaces=[Surface("chat")], argument_policies=[resources])
    conversation = host.start(
        Setup(gate=gate, script=script, tools=resources.tools(file_tools), surface="chat", caller=ANN)
    )
    conversation.say("go")
    told = {one.tool_call_id: one for one in conversation.messages if isinstance(one, ToolMessage)}
    shapes = {name: one.model_dump(exclude={"id", "tool_call_id"}) for name, one in told.items()}
    assert shapes["denied"] == shapes["missing"] == shapes["no right"]
    assert (shapes["right"]["content"], shapes["right"]["status"]) == ("this is docs/a.txt", "success")
    assert conversation.requests == []
