"""What people say, in a hand-written graph: answers, memory, the cap, new words, replays and forks."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.messages import HumanMessage

from tests.graph.support import graph_chat
from tests.support import Recorder, call, says
from toolgate_langchain import (
    ApprovalAnswer,
    ApprovalRequest,
    Tier,
    ToolGate,
    ToolProfile,
)
from toolgate_langchain.hosts.langgraph.driving import adrive, drive

READ, ROUTINE = ToolProfile(tier=Tier.READ_ONLY), ToolProfile(tier=Tier.ROUTINE)


def test_unusable_answers_are_asked_again_with_the_error_and_denied_after_three(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)
    chat.say()
    unusable: dict[str, Any]
    for unusable in ({"approved": "true"}, {"type": "APPROVE"}):
        chat.resume({**unusable, "request_id": chat.request.request_id})
        assert chat.request.tool_call_id == "a" and "cannot be used" in chat.request.error
    chat.answer()  # a correct answer in between
    for unusable in ({"approved": 1}, {"type": "maybe"}, {"type": None}):
        chat.resume({**unusable, "request_id": chat.request.request_id})
    assert ran.runs == [("deploy", {})]
    assert "not executed" in chat.result("b")


def test_an_answer_to_an_earlier_request_leaves_the_pending_one_pending(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)
    chat.say()
    first = chat.request.request_id
    chat.answer()
    chat.resume({"type": "approve", "request_id": first})
    assert chat.request.tool_call_id == "b" and "already answered" in chat.request.error
    assert ran.names == []


def test_an_approval_is_taken_back_before_the_turn_is_complete(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)
    chat.say()
    first = chat.request.request_id
    chat.answer()
    chat.resume({"type": "reject", "request_id": first})
    chat.answer()
    assert ran.runs == [("deploy", {"n": 1})]


def test_gate_answer_accepts_what_is_pending_once_and_refuses_the_rest(how: dict[str, Any]) -> None:
    ran = Recorder()
    chat = graph_chat([says(call("deploy", "a"))], [ran.tool("deploy")], **how)
    chat.say()
    approve = ApprovalAnswer(type="approve", request_id=chat.request.request_id)

    def answer(given: ApprovalAnswer) -> Any:
        if how["asynchronous"]:
            return asyncio.run(_awaited(chat.gate.aanswer(chat.agent, chat.config, given)))
        return chat.gate.answer(chat.agent, chat.config, given)

    assert answer(ApprovalAnswer(type="approve", request_id="0" * 32)).status == "not_pending"
    assert [answer(approve).status, answer(approve).status] == ["accepted", "already_answered"]
    assert ran.names == ["deploy"]


async def _awaited(value: Any) -> Any:
    return await value


def test_drive_asks_an_approver_until_the_graph_is_done(how: dict[str, Any]) -> None:
    ran, asked = Recorder(), list[str]()
    chat = graph_chat([says(call("deploy", "a"), call("deploy", "b", n=1))], [ran.tool("deploy")], **how)

    def approver(request: ApprovalRequest) -> ApprovalAnswer:
        asked.append(request.tool_call_id)
        return ApprovalAnswer(type="approve" if request.tool_call_id == "a" else "reject")

    go = {"messages": [HumanMessage("go")]}
    if how["asynchronous"]:
        done = asyncio.run(adrive(chat.agent, go, chat.config, approver=approver))
    else:
        done = drive(chat.agent, go, chat.config, approver=approver)
    assert done.done and asked == ["a", "b"] and ran.runs == [("deploy", {})]


def test_remember_tool_clears_the_sibling_and_the_next_turn(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("note", "a", n=1), call("note", "b", n=2)), says(call("note", "c", n=3))]
    chat = graph_chat(turns, [ran.tool("note", ROUTINE)], **how)
    chat.say()
    chat.answer(remember="tool")
    assert chat.requests == []
    assert sorted(args["n"] for _, args in ran.runs) == [1, 2, 3]
    assert [rule.tool_name for rule in chat.rules] == ["note"]


def test_remember_arguments_covers_the_same_arguments_only_also_in_the_next_run(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("note", "a", n=1)), says(text="ok"), says(call("note", "b", n=1), call("note", "c", n=2))]
    chat = graph_chat(turns, [ran.tool("note", ROUTINE)], **how).taught()
    chat.say("again")
    assert chat.request.tool_call_id == "c"
    chat.answer("reject")
    assert [args["n"] for _, args in ran.runs] == [1, 1]


def test_an_identical_call_is_refused_after_a_rejection_and_a_variant_is_asked_as_one(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("deploy", "a")), says(call("deploy", "b")), says(call("deploy", "c", n=1))]
    chat = graph_chat(turns, [ran.tool("deploy")], **how)
    chat.say()
    chat.answer("reject")
    assert chat.request.tool_call_id == "c" and any("variant" in note for note in chat.request.notes)
    assert "not executed" in chat.result("b") and ran.names == []


def test_at_the_cap_a_person_is_asked_and_an_approval_starts_the_count_again(how: dict[str, Any]) -> None:
    ran = Recorder()
    turns = [says(call("deploy", f"{n}", n=n)) for n in range(6)]
    gate = ToolGate(heuristics=[lambda made, context: True], max_auto_approvals=2)
    chat = graph_chat(turns, [ran.tool("deploy")], gate=gate, **how)
    chat.say()
    assert chat.request.tool_call_id == "2" and ran.count("deploy") == 2
    assert any("2 turns ran without anybody being asked" in note for note in chat.request.notes)
    chat.answer()
    assert chat.request.tool_call_id == "5" and ran.count("deploy") == 5
