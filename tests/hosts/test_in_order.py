"""A message that is in order at one glance needs no repair; one that needs it gets it, whatever its calls are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, InvalidToolCall, ToolCall

from tests.support import Recorder, alone, chat, says
from toolgate_langchain import Tier, ToolGate, ToolProfile
from toolgate_langchain.hosts.engine.calls import in_order, with_fresh_ids, without_unstorable_calls


class Mapped(dict[str, Any]):
    pass


IDS = st.sampled_from(["a", "b", "c", "", None])
PLAIN: list[Any] = [{}, {"n": 1}, {"n": [1, {"m": "é"}]}]
NOT_PLAIN: list[Any] = [{"n": 2**63}, {"n": float("nan")}, {"n": "\ud800"}, {1: 1}, {"n": (1,)}, Mapped()]
ARGUMENTS = st.sampled_from([*PLAIN, *NOT_PLAIN])
CALLS = st.builds(lambda call_id, args: ToolCall(name="look", args=args, id=call_id), IDS, ARGUMENTS)
BROKEN = InvalidToolCall(name="look", args="{", id="x", error="cut off", type="invalid_tool_call")
BEFORE = st.lists(
    st.sampled_from([HumanMessage("go", id="m"), AIMessage("so", id="n"), HumanMessage("go")]), max_size=3
)


@settings(deadline=None, database=None, max_examples=400)
@given(
    st.sampled_from(["m", "new", "new", "new", "", None]),
    st.lists(CALLS | CALLS.filter(lambda one: bool(one["id"] and one["args"] == {"n": 1})), min_size=1, max_size=3),
    st.sampled_from([[], [], [BROKEN]]),
    BEFORE,
)
def test_what_is_in_order_needs_no_repair_and_what_needs_none_is_in_order(
    message_id: str | None, calls: list[ToolCall], invalid: list[InvalidToolCall], before: list[Any]
) -> None:
    # A copy, because other middleware makes messages without validating them.
    message = AIMessage("").model_copy(update={"id": message_id, "tool_calls": calls, "invalid_tool_calls": invalid})
    untouched = with_fresh_ids(message, lambda: "made", before) is message
    untouched = untouched and without_unstorable_calls(message) is message and not invalid
    assert in_order(message, before) is untouched


def test_one_of_each_kind() -> None:
    call = ToolCall(name="look", args={"n": 1}, id="a")
    whole = AIMessage("", id="new", tool_calls=[call, ToolCall(name="look", args={}, id="b")])
    assert in_order(whole, [HumanMessage("go", id="m")])
    assert not in_order(whole, [HumanMessage("go", id="new")])
    assert not in_order(AIMessage("", id="new", tool_calls=[call, call]), [])
    assert not in_order(AIMessage("", id="new", tool_calls=[ToolCall(name="look", args={"n": 2**63}, id="a")]), [])


READ = ToolProfile(tier=Tier.READ_ONLY)


@pytest.mark.parametrize("when_needed", [False, True], ids=["in any list", "around"])
class TestTurnsThatNeedNobodyAndARepair:
    def test_calls_with_one_id_each_get_a_result_of_their_own(self, when_needed: bool) -> None:
        ran, gate = Recorder(), ToolGate()
        call = ToolCall(name="read", args={}, id="a")
        middleware = alone(gate, when_needed=when_needed)
        talk = chat([says(call, call)], [ran.tool("read", READ)], gate=gate, middleware=middleware)
        talk.say()
        assert (ran.count("read"), len({one.tool_call_id for one in talk.results})) == (2, 2)

    def test_a_call_that_no_store_can_carry_is_told_to_the_model(self, when_needed: bool) -> None:
        ran, gate = Recorder(), ToolGate()
        turn = says(ToolCall(name="read", args={"n": 2**63}, id="a"))
        talk = chat([turn], [ran.tool("read", READ)], gate=gate, middleware=alone(gate, when_needed=when_needed))
        talk.say()
        assert (ran.runs, len(talk.model.seen)) == ([], 2)
        assert "beyond 64 bits" in talk.result("a")

    def test_a_turn_of_calls_that_cannot_be_read_goes_back_to_the_model(self, when_needed: bool) -> None:
        ran, gate = Recorder(), ToolGate()
        turn = AIMessage("", invalid_tool_calls=[BROKEN])
        talk = chat([turn], [ran.tool("read", READ)], gate=gate, middleware=alone(gate, when_needed=when_needed))
        talk.say()
        assert len(talk.model.seen) == 2
        assert "could not be read" in talk.result("x")
