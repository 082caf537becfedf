"""Tools that an operator wants to be asked about, by name, and the answers that a person may give."""

from typing import Any

import pytest
from pydantic import ValidationError

from tests.support import Recorder, call, chat, says
from toolgate_langchain import ApprovalRule, Surface, Tier, ToolCatalog, ToolGate, ToolProfile, Verdict

OPEN = Surface("chat", routine=Verdict.ALLOW, consequential=Verdict.ALLOW, unclassified=Verdict.ALLOW)


@pytest.fixture
def gate() -> ToolGate:
    ran = Recorder()
    tools = [ran.tool(name, ToolProfile(tier=Tier.READ_ONLY)) for name in ("read", "look")]
    rule = ApprovalRule(asks={"read": ["approve", "reject"]})  # type: ignore[dict-item]  # as JSON has it
    return ToolGate(ToolCatalog.from_tools(tools), [OPEN, Surface("cron", attended=False)], approval_rule=rule)


def test_such_a_tool_needs_a_person_even_where_its_tier_is_allowed(gate: ToolGate) -> None:
    decision = gate.decide({"name": "read", "args": {}}, surface="chat")
    assert (decision.verdict.value, decision.needs_person) == ("ask", True)
    assert "its operator wants to be asked about it" in gate.approval_rule.need(gate.catalog.get("read"), OPEN).reason
    assert gate.decide({"name": "look", "args": {}}, surface="chat").verdict.value == "allow"


def test_such_a_tool_never_runs_without_any_pause(gate: ToolGate) -> None:
    assert gate.unattended(["read", "look"], surface="cron") == ["look"]
    assert gate.decide({"name": "read", "args": {}}, surface="cron").code == "unattended"


def test_the_answers_are_kept_in_their_order(gate: ToolGate) -> None:
    assert gate.approval_rule.asks == {"read": ("approve", "reject")}
    assert ApprovalRule().asks == {}


@pytest.mark.parametrize("answers", [[], "approve", ["accept"], [None], None, True], ids=repr)
def test_answers_that_do_not_exist_or_none_at_all_are_an_error(answers: Any) -> None:
    with pytest.raises(ValidationError, match="asks"):
        ApprovalRule(asks={"read": answers})


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_person_who_is_asked_can_always_say_no(asynchronous: bool) -> None:
    ran = Recorder()
    gate = ToolGate(approval_rule=ApprovalRule(asks={"send": ("approve",)}))
    talk = chat([says(call("send", "s"))], [ran.tool("send")], gate=gate, asynchronous=asynchronous)
    talk.say()
    assert talk.request.allowed == ("approve",)
    talk.answer("edit", edited_action={"name": "send", "args": {"to": "eve"}})
    assert "not possible" in talk.request.error
    talk.answer("reject", message="not now")
    assert (ran.runs, talk.requests) == ([], [])
    assert "not now" in talk.result("s")
