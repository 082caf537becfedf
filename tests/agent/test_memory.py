"""Standing rules, rejections, heuristics and the cap, over runs and sessions."""

from typing import Any

import pytest

from tests.agent.talking import CONSEQUENTIAL, ROUTINE, Talk, talk
from tests.support import Recorder, call, says
from toolgate_langchain import ApprovalSession, ToolGate


def save(call_id: str, **args: Any) -> Any:
    return says(call("save", call_id, **args))


def chatting(ran: Recorder, asynchronous: bool, *turns: Any, thread: str | None = None, **gate: Any) -> Talk:
    tools = [ran.tool("save", ROUTINE), ran.tool("deploy", CONSEQUENTIAL)]
    return talk(turns, tools, ran, asynchronous=asynchronous, thread=thread, gate=ToolGate(**gate))


def test_remember_tool_clears_a_sibling_and_later_calls_of_the_run(ran: Recorder, asynchronous: bool) -> None:
    turn = says(call("save", "a", n=1), call("save", "b", n=2))
    told = chatting(ran, asynchronous, turn, save("c", n=3)).say()
    told.answer(remember={"what": "tool", "scope": "run"})
    assert told.done and ran.count("save") == 3


def test_remember_arguments_clears_the_same_and_asks_about_others(ran: Recorder, asynchronous: bool) -> None:
    turn = says(call("save", "a", n=1), call("save", "b", n=1), call("save", "c", n=2))
    told = chatting(ran, asynchronous, turn, save("d", n=1)).say()
    told.answer(remember={"what": "arguments", "scope": "run"})
    assert told.request.tool_call_id == "c"
    told.answer("reject")
    # A sibling was rejected meanwhile, so the next call of the tool is shown as a variant of it.
    assert told.request.tool_call_id == "d" and ran.count("save") == 2


def test_without_a_thread_nothing_outlives_the_run(ran: Recorder, asynchronous: bool) -> None:
    told = chatting(ran, asynchronous, save("a"), says(text="done"), save("b")).say()
    assert {offer.scope for offer in told.request.remember} == {"run"}
    told.answer(remember="arguments")  # its scope is the thread, where nothing else is said
    assert told.became == "asked_again" and "remembering arguments (thread) is not offered" in told.request.error
    told.answer(remember={"what": "arguments", "scope": "run"})
    assert told.done
    told.say("again")
    assert told.request.tool_call_id == "b"


@pytest.mark.parametrize("with_session", [True, False])
def test_a_rule_of_a_thread_holds_in_the_next_run_of_it(ran: Recorder, asynchronous: bool, with_session: bool) -> None:
    told = chatting(ran, asynchronous, save("a"), says(text="done"), save("b"), thread="t").say()
    told.answer(remember="arguments")
    assert told.done
    if not with_session:
        told.output = None
    told.say("again")
    assert told.done and ran.count("save") == 2


def test_a_rule_of_a_thread_travels_with_the_session_to_another_ledger(ran: Recorder, asynchronous: bool) -> None:
    told = chatting(ran, asynchronous, save("a"), thread="t").say().answer(remember="arguments")
    elsewhere = chatting(ran, asynchronous, save("b"), thread="t")
    elsewhere.output = told.output
    elsewhere.say("again")
    assert elsewhere.done and ran.count("save") == 2


def test_a_rule_of_a_thread_does_not_reach_another_thread(ran: Recorder, asynchronous: bool) -> None:
    told = chatting(ran, asynchronous, save("a"), says(text="done"), save("b"), thread="t").say()
    told.answer(remember="arguments")
    told.output, told.config = None, {"configurable": {"thread_id": "another"}}
    told.say()
    assert told.request.tool_call_id == "b"


def test_a_rule_whose_approval_was_taken_back_is_gone_from_the_session_too(ran: Recorder, asynchronous: bool) -> None:
    turn = says(call("save", "a"), call("deploy", "b"))
    told = chatting(ran, asynchronous, turn, save("c"), thread="t").say()
    first = told.request.request_id
    told.answer(remember="arguments").resume({"type": "reject", "request_id": first})
    assert told.became == "withdrawn"
    told.answer()
    assert told.done and ran.names == ["deploy"] and "was not executed" in told.results["c"]
    assert told.session.rules == {}


@pytest.mark.parametrize("thread", ["t", None])
def test_a_rule_whose_approval_was_taken_back_after_a_crash_releases_nothing(
    ran: Recorder, asynchronous: bool, thread: str | None
) -> None:
    """The session kept before the crash has the rule already; what it released is not run any more."""
    kept: list[ApprovalSession] = []

    def keep(session: ApprovalSession) -> None:
        kept.append(session)
        if session.rules and len(kept) == 3:
            raise KeyboardInterrupt

    turn, tools = says(call("save", "a", n=1), call("save", "b", n=2)), [ran.tool("save", ROUTINE)]
    told = talk([turn], tools, ran, asynchronous=asynchronous, thread=thread, keep=keep).say()
    first = told.request.request_id
    with pytest.raises(KeyboardInterrupt):
        told.answer(remember={"what": "tool", "scope": "run"})
    told.resume({"type": "reject", "request_id": first}, kept[-1])
    assert told.became == "withdrawn" and ran.runs == []
    assert "Nothing was executed" in told.results["a"] and "was not executed" in told.results["b"]


def test_a_deny_is_remembered(ran: Recorder, asynchronous: bool) -> None:
    told = chatting(ran, asynchronous, save("a", n=1), save("b", n=2)).say()
    told.answer("reject", remember={"what": "tool", "scope": "run"})
    assert told.done and ran.runs == [] and "was not executed" in told.results["b"]


def test_a_rejected_call_is_refused_without_asking_and_a_variant_is_shown_as_one(
    ran: Recorder, asynchronous: bool
) -> None:
    told = chatting(ran, asynchronous, save("a", n=1), save("b", n=1), save("c", n=2)).say()
    told.answer("reject", message="No numbers.")
    assert told.request.tool_call_id == "c" and "was not executed" in told.results["b"]
    assert "No numbers." in told.results["a"]
    assert any("variant" in note for note in told.request.notes)


def test_after_three_rejections_of_a_tool_it_is_refused(ran: Recorder, asynchronous: bool) -> None:
    told = chatting(ran, asynchronous, *[save(f"c{n}", n=n) for n in range(4)]).say()
    for _ in range(3):
        told.answer("reject")
    assert told.done and "was not executed" in told.results["c3"]


def test_heuristics_run_once_per_call_over_every_resume(ran: Recorder, asynchronous: bool) -> None:
    heard: list[str] = []

    def yes_to_one(one: Any, _: Any) -> bool:
        heard.append(one["id"])
        return bool(one["args"]["n"] == 1)

    turn = says(call("save", "a", n=1), call("save", "b", n=2), call("save", "c", n=3))
    told = chatting(ran, asynchronous, turn, heuristics=[yes_to_one]).say()
    assert told.request.tool_call_id == "b"
    told.answer().answer("reject")
    assert heard == ["a", "b", "c"] and told.ran.runs == [("save", {"n": 1}), ("save", {"n": 2})]


def test_the_yes_of_a_heuristic_that_the_gate_has_no_longer_releases_nothing(ran: Recorder, asynchronous: bool) -> None:
    """As where it was taken out while the turn waited, or where the session goes on behind another gate."""

    def yes(one: Any, _: Any) -> bool:
        return bool(one["name"] == "save")

    turn = says(call("save", "a"), call("deploy", "b"))
    told = chatting(ran, asynchronous, turn, heuristics=[yes]).say()
    later = chatting(ran, asynchronous)
    later.output = told.output
    later.answer()
    assert later.done and ran.names == ["deploy"] and "was not executed" in later.results["a"]


async def test_an_asynchronous_heuristic_is_awaited(ran: Recorder) -> None:
    async def yes(one: Any, _: Any) -> bool:
        return True

    told = chatting(ran, True, save("a"), heuristics=[yes])
    assert (await told.agent.ainvoke("go"))["request"] is None
    assert ran.names == ["save"]


def test_at_the_cap_a_person_is_asked_again(ran: Recorder, asynchronous: bool) -> None:
    def yes(one: Any, _: Any) -> bool:
        return True

    turns = [save(f"c{n}", n=n) for n in range(6)]
    told = chatting(ran, asynchronous, *turns, heuristics=[yes], max_auto_approvals=2).say()
    assert told.request.tool_call_id == "c2"
    assert any("2 turns ran without anybody being asked" in note for note in told.request.notes)
    told.answer()
    assert told.request.tool_call_id == "c5" and ran.count("save") == 5
    told.say("new words")  # a new run starts the count again
    assert told.done


def test_the_cap_is_forty_unless_said_otherwise(ran: Recorder, asynchronous: bool) -> None:
    tools = [ran.tool("save", ROUTINE)]
    turns = [save(f"c{n}", n=n) for n in range(41)]
    gate = ToolGate(heuristics=[lambda one, context: True])
    told = talk(turns, tools, ran, asynchronous=asynchronous, gate=gate, max_turns=100).say()
    assert told.request.tool_call_id == "c40" and ran.count("save") == 40
