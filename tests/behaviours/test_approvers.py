"""Who answers: the record says whose answer it was, the operator who may, and nobody lends the run their rights."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.types import Command

from tests.support import Chat, Recorder, ScriptedModel, call, chat, says
from toolgate_langchain import Caller, GatedAgent, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.identity import readable_identity
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.answering import AnswerResult

ASK = ToolProfile(tier=Tier.CONSEQUENTIAL)


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def only_ann(request: Any, by: str | None) -> Any:
    return by == "ann"


async def only_ann_asynchronously(request: Any, by: str | None) -> Any:
    return by == "ann"


def talk(ran: Recorder, asynchronous: bool, *turns: Any, **options: Any) -> Chat:
    gate = ToolGate(**options)
    talk = chat(turns, [ran.tool("send", ASK)], gate=gate, asynchronous=asynchronous)
    talk.say()
    return talk


def give(talk: Chat, kind: str = "approve", request_id: str | None = None, by: Any = ..., **more: Any) -> AnswerResult:
    """Answer through the gate; `by` is what whoever drives the run knows of who answers."""
    answer = {"type": kind, "request_id": request_id or talk.request.request_id, **more}
    known = {} if by is ... else {"by": by}
    if not talk.asynchronous:
        return talk.gate.answer(talk.agent, talk.config, answer, **known)

    async def answered() -> AnswerResult:
        return await talk.gate.aanswer(talk.agent, talk.config, answer, **known)

    return asyncio.run(answered())


# --- identities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ann", "Ann Lee", "ann@example.com", "Ænn", "安", "x" * 256])
def test_an_identity_is_taken_as_it_is(name: str) -> None:
    assert readable_identity(name) == name


@pytest.mark.parametrize(
    "name",
    ["", " ", " ann", "ann ", "ann\n", "an\u200bn", "\u202eann", "ann\x00", "ann\x1b[2J", "x" * 257, None, 7, b"ann"],
)
def test_an_unreadable_identity_is_nobody(name: Any) -> None:
    assert readable_identity(name) is None


@pytest.mark.parametrize(
    ("said", "known", "kept"),
    [
        ("ann", ..., "ann"),
        ("an\u200bn", ..., None),
        (7, ..., None),
        ("eve", "ann", "ann"),
        ("eve", None, None),
        ("eve", "an\u200bn", None),
        (None, "ann", "ann"),
    ],
)
def test_the_record_says_who_answered_as_whoever_drives_the_run_knows_it(
    asynchronous: bool, said: Any, known: Any, kept: str | None
) -> None:
    """What the answer says of itself counts only where the driver says nothing."""
    ran, outcomes = Recorder(), list[Any]()
    said_by = {} if said is None else {"by": said}
    one = talk(ran, asynchronous, says(call("send", "a")), on_decision=outcomes.append)
    request_id = one.request.request_id
    answer = {"type": "approve", "request_id": request_id, **said_by}
    options = {} if known is ... else {"by": known}
    if asynchronous:

        async def answered() -> AnswerResult:
            return await one.gate.aanswer(one.agent, one.config, answer, **options)

        result = asyncio.run(answered())
    else:
        result = one.gate.answer(one.agent, one.config, answer, **options)
    assert (result.status, ran.names) == ("accepted", ["send"])
    held: Any = one.gate.ledger.answer_to(request_id)
    assert [outcome.by for outcome in outcomes] == [held.by] == [kept]


# --- who may --------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", [only_ann, only_ann_asynchronously])
def test_whoever_may_not_answer_is_told_so_and_the_request_goes_on_waiting(asynchronous: bool, rule: Any) -> None:
    ran = Recorder()
    one = talk(ran, asynchronous, says(call("send", "a")), approvers=rule)
    before = one.request
    for kind in ("approve", "reject"):
        result = give(one, kind, by="eve")
        assert (result.status, result.detail) == ("not_allowed", "eve may not answer this request")
    assert give(one, by=None).detail == "who answers must be named here, and was not"
    assert (one.request, ran.runs, one.gate.ledger.answer_to(before.request_id)) == (before, [], None)
    assert give(one, by="ann").status == "accepted"
    assert ran.names == ["send"]


@pytest.mark.parametrize("said", [False, None, 1, "yes", [True], ZeroDivisionError()])
def test_anything_but_true_is_a_no(asynchronous: bool, said: Any) -> None:
    ran = Recorder()

    def rule(request: Any, by: str | None) -> Any:
        if isinstance(said, Exception):
            raise said
        return said

    one = talk(ran, asynchronous, says(call("send", "a")), approvers=rule)
    assert give(one, by="ann").status == "not_allowed"
    assert (len(one.requests), ran.runs) == (1, [])


def test_the_rule_sees_the_request_as_it_is_shown(asynchronous: bool) -> None:
    seen: list[Any] = []

    def rule(request: Any, by: str | None) -> bool:
        seen.append((request.tool_name, dict(request.arguments), request.tier, by))
        return True

    one = talk(Recorder(), asynchronous, says(call("send", "a", n=1)), approvers=rule)
    give(one, by="ann")
    assert set(map(str, seen)) == {str(("send", {"n": 1}, "consequential", "ann"))}


def test_a_bare_resume_is_held_to_it_too_and_costs_no_try(asynchronous: bool) -> None:
    """Where it counted as one of three tries, whoever may not answer could deny it all the same."""
    ran = Recorder()
    one = talk(ran, asynchronous, says(call("send", "a")), approvers=only_ann)
    for kind in ("approve", "reject", "approve", "reject"):
        one.answer(kind, by="eve")
        assert one.request.error == "eve may not answer this request. It still waits."
    one.answer()
    assert one.request.error == "who answers must be named here, and was not. It still waits."
    one.answer(by="ann")
    assert (ran.names, one.requests) == (["send"], [])


def test_only_who_may_answer_takes_an_approval_back(asynchronous: bool) -> None:
    ran = Recorder()
    one = talk(ran, asynchronous, says(call("send", "a", n=1), call("send", "b", n=2)), approvers=only_ann)
    first = one.request.request_id
    one.answer(by="ann")
    one.resume({"type": "reject", "request_id": first, "by": "eve"})
    assert "may not answer" in one.request.error
    assert give(one, "reject", first, by="eve").status == "not_allowed"
    one.answer(by="ann")
    assert sorted(ran.runs, key=str) == [("send", {"n": 1}), ("send", {"n": 2})]


def test_who_loses_the_right_between_answer_and_execution_released_nothing(asynchronous: bool) -> None:
    ran, may = Recorder(), {"ann"}
    one = talk(ran, asynchronous, says(call("send", "a")), approvers=lambda request, by: by in may)
    one.agent.interrupt_before_nodes = ["tools"]
    give(one, by="ann")
    one.agent.interrupt_before_nodes = []
    may.clear()
    one.invoke(None)
    assert ran.runs == [] and "withdrawn" in one.result("a")


def test_an_agent_without_langgraph_is_held_to_it_too(asynchronous: bool) -> None:
    ran = Recorder()
    model = ScriptedModel(script=[says(call("send", "a"))])
    agent = GatedAgent(model, [ran.tool("send", ASK)], ToolGate(approvers=only_ann))
    output = agent.invoke("go")
    assert output["request"] is not None
    answer = {"type": "approve", "request_id": output["request"].request_id, "by": "ann"}

    def resume(**known: Any) -> Any:
        session = output["session"]
        return (
            asyncio.run(agent.aresume(session, answer, **known))
            if asynchronous
            else agent.resume(session, answer, **known)
        )

    refused = resume(by="eve")
    assert refused["answer"].status == "not_allowed" and refused["request"] == output["request"]
    assert ran.runs == []
    assert resume()["answer"].status == "accepted"
    assert ran.names == ["send"]


def test_a_rule_that_cannot_be_called_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="approvers is 'ann'"):
        ToolGate(approvers="ann")  # type: ignore[arg-type]


# --- an approver's rights -------------------------------------------------------------------------


@dataclass
class User:
    name: str
    admin: bool


def test_an_approvers_rights_never_become_the_runs(asynchronous: bool) -> None:
    """The caller is fixed when the run starts: an administrator who resumes it and approves opens no tool of theirs."""
    ran = Recorder()
    tools = [ran.tool("send", ASK), ran.tool("wipe", ToolProfile(tier=Tier.CONSEQUENTIAL, admin_only=True))]
    gate = ToolGate()
    turns = [says(call("send", "a")), says(call("wipe", "b")), says(text="done")]
    one = chat(
        turns,
        tools,
        gate=gate,
        asynchronous=asynchronous,
        caller=lambda runtime: Caller(runtime.context.name, admin=runtime.context.admin),
        agent={"context_schema": User},
    )
    plain, admin = User("ben", admin=False), User("root", admin=True)

    def invoke(value: Any, user: User) -> Any:
        if asynchronous:
            return asyncio.run(one.agent.ainvoke(value, one.config, context=user))
        return one.agent.invoke(value, one.config, context=user)

    invoke({"messages": [HumanMessage("go")]}, plain)
    assert one.request.caller == "ben"
    invoke(Command(resume={"type": "approve", "request_id": one.request.request_id, "by": "root"}), admin)
    assert ran.names == ["send"]
    assert (one.requests, "not permitted" in one.result("b")) == ([], True)
