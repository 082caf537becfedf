"""The queue and the ledger under random turns, answers and replays, beside a simple model of what a person allowed."""

import json
from itertools import count
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from tests.support import Chat, Recorder, ScriptedModel, call, says
from toolgate_langchain import ApprovalRequest, Tier, ToolGate, ToolGateMiddleware, ToolProfile
from toolgate_langchain.hosts.record import CallOutcome
from toolgate_langchain.vocabulary import Verdict

ASKED = {"send": Tier.CONSEQUENTIAL, "save": Tier.ROUTINE}
CALLS = st.tuples(st.sampled_from(["send", "send", "save", "save", "read", "nothing"]), st.integers(0, 2))
TURNS = st.lists(st.lists(CALLS, min_size=1, max_size=4), min_size=1, max_size=2)
MALFORMED = st.sampled_from([1, True, [], "approve", {"type": "APPROVE"}, {"type": "approve"}, {"decisions": []}])


def text(arguments: Any) -> str:
    return json.dumps(arguments, sort_keys=True)


class Approvals(RuleBasedStateMachine):
    """Never an execution without a yes, never two of one call, and every call exactly one tool message."""

    @initialize()
    def begin(self) -> None:
        self.ran, self.saver = Recorder(), InMemorySaver()
        ids = count()
        self.gate = ToolGate(on_decision=self.decided, new_id=lambda: f"{next(ids):032x}")
        self.allowed: dict[str, set[str]] = {}  # call id to the arguments that a person said yes to
        self.denied: set[str] = set()  # ids of calls that a person said no to, or that were superseded
        self.remembered: list[tuple[str, str | None, str]] = []  # tool, arguments, and the call whose answer made it
        self.executed: list[str] = []
        self.faults: list[str] = []
        self.seen: dict[str, tuple[ApprovalRequest, dict[str, Any]]] = {}  # request id to it and its checkpoint
        self.left_over = False
        self.open: set[str] = set()  # ids of the calls of the turn that is being asked about
        self.restart()

    # --- the model ----------------------------------------------------------------------------

    def decided(self, outcome: CallOutcome) -> None:
        """What the gate released must be in the model of what a person allowed."""
        if outcome.verdict is not Verdict.ALLOW or outcome.name not in ASKED:
            return
        if outcome.call_id in self.executed:
            self.faults.append(f"{outcome.call_id} was executed twice")
        self.executed.append(outcome.call_id)
        arguments = text(outcome.arguments)
        by_rule = any(tool == outcome.name and exact in (None, arguments) for tool, exact, _ in self.remembered)
        if outcome.code == "standing_rule":
            if not by_rule:
                self.faults.append(f"{outcome.call_id} ran by a rule that nobody made")
        elif arguments not in self.allowed.get(outcome.call_id, ()):
            self.faults.append(f"{outcome.call_id} ran with {arguments}, which nobody approved")
        elif outcome.call_id in self.denied:
            self.faults.append(f"{outcome.call_id} ran although it was rejected or superseded")

    def said_no(self, call_id: str) -> None:
        """A no holds unless the call was executed before."""
        if call_id not in self.executed:
            self.denied.add(call_id)
            self.remembered = [one for one in self.remembered if one[2] != call_id]

    # --- what happens -------------------------------------------------------------------------

    @rule()
    def restart(self) -> None:
        """The agent is built anew, as after a deployment; ledger and checkpoints stay."""
        model = ScriptedModel()
        tools = [self.ran.tool(name, ToolProfile(tier=tier)) for name, tier in ASKED.items()]
        tools.append(self.ran.tool("read", ToolProfile(tier=Tier.READ_ONLY)))
        agent = create_agent(model, tools, middleware=[ToolGateMiddleware(self.gate)], checkpointer=self.saver)
        self.talk = Chat(agent, model, self.gate)

    @rule(turns=TURNS)
    def say(self, turns: list[list[tuple[str, int]]]) -> None:
        """The user writes something; the model makes some turns of calls."""
        self.denied |= self.open - set(self.executed)  # approvals are withdrawn; rules are kept
        self.left_over = False
        told = [says(*[call(name, n=n) for name, n in turn]) for turn in turns]
        self.talk.model.script = [AIMessage("done")] * len(self.talk.model.seen) + told
        self.talk.say()
        self.note()

    @precondition(lambda self: self.pending is not None)
    @rule(
        kind=st.sampled_from(["approve", "approve", "approve", "reject", "edit", "respond"]),
        n=st.integers(0, 2),
        remember=st.sampled_from([None, None, "arguments", "tool"]),
        bare=st.booleans(),
    )
    def answer(self, kind: str, n: int, remember: str | None, bare: bool) -> None:
        """The right answer to what is pending."""
        request = self.asked
        given: dict[str, Any] = {"type": kind, "request_id": request.request_id}
        if kind == "edit":
            given["edited_action"] = {"name": request.tool_name, "args": {"n": n}}
        if kind == "respond":
            given["message"] = "a person's words"
        if kind == "approve" and remember is not None:
            given["remember"] = remember
        self.expect(request, given)
        self.give(given, bare=bare)
        if self.pending is not None and self.pending.request_id == request.request_id:
            self.allowed.pop(request.tool_call_id, None)  # it could not be used, and is asked again
            self.remembered = [one for one in self.remembered if one[2] != request.tool_call_id]

    def expect(self, request: ApprovalRequest, given: dict[str, Any]) -> None:
        call_id, kind = request.tool_call_id, given["type"]
        if kind in ("approve", "edit"):
            arguments = given["edited_action"]["args"] if kind == "edit" else dict(request.arguments)
            self.allowed.setdefault(call_id, set()).add(text(arguments))
        if "remember" in given:
            exact = text(dict(request.arguments)) if given["remember"] == "arguments" else None
            self.remembered.append((request.tool_name, exact, call_id))
        if kind == "reject":
            self.said_no(call_id)

    @precondition(lambda self: len(self.seen) > 0)
    @rule(data=st.data(), kind=st.sampled_from(["approve", "reject", "reject"]), bare=st.booleans())
    def answer_to_an_earlier_request(self, data: st.DataObject, kind: str, bare: bool) -> None:
        """An answer sent twice, or late; a rejection may take an approval back while its turn is open."""
        request_id = data.draw(st.sampled_from([*self.seen, *[*self.seen][-2:] * 3]))
        if self.pending is not None and request_id == self.pending.request_id:
            return
        request = self.seen[request_id][0]
        before = self.pending
        if kind == "reject" and request.tool_call_id in self.open:
            self.said_no(request.tool_call_id)
        self.give({"type": kind, "request_id": request_id}, bare=bare)
        assert (before and before.request_id) == (self.pending and self.pending.request_id)

    @precondition(lambda self: self.pending is not None)
    @rule(malformed=MALFORMED, bare=st.booleans())
    def answer_that_means_nothing(self, malformed: Any, bare: bool) -> None:
        """A wrong shape, or no request, or one that does not exist."""
        request = self.asked
        self.give(malformed, bare=bare)
        if bare and self.pending is not None and self.pending.request_id == request.request_id:
            assert self.pending.error
        if not bare:
            assert self.pending is not None
            assert self.pending.request_id == request.request_id

    @precondition(lambda self: self.pending is not None and not self.left_over)
    @rule()
    def replay(self) -> None:
        """The waiting node runs again: the same question."""
        request = self.asked
        self.talk.invoke(None)
        assert self.asked.request_id == request.request_id
        assert self.asked.arguments == request.arguments

    @precondition(lambda self: len(self.seen) > 0)
    @rule(data=st.data())
    def approve_on_an_old_checkpoint(self, data: st.DataObject) -> None:
        """Somebody goes back in time and says yes there. The thread goes on from the fork."""
        request_id = data.draw(st.sampled_from(list(self.seen)))
        request, checkpoint = self.seen[request_id]
        self.talk.model.script, self.left_over = [], True
        self.allowed.setdefault(request.tool_call_id, set()).add(text(dict(request.arguments)))
        answer: Command[Any] = Command(resume={"type": "approve", "request_id": request_id})
        self.talk.agent.invoke(answer, checkpoint)
        self.note()

    # --- looking ------------------------------------------------------------------------------

    def give(self, answer: Any, *, bare: bool) -> None:
        before, delivered = self.pending, bare
        if bare:
            self.talk.resume(answer)
        else:
            given = self.gate.answer(self.talk.agent, self.talk.config, answer)
            delivered = given.status in ("accepted", "asked_again")
        self.note()
        if delivered:
            # LangGraph delivers the last answer once more to a node that is replayed: an unusable one counts again.
            self.left_over = (before and before.request_id) == (self.pending and self.pending.request_id)

    @property
    def pending(self) -> ApprovalRequest | None:
        requests = self.talk.requests
        assert len(requests) <= 1
        return requests[0] if requests else None

    @property
    def asked(self) -> ApprovalRequest:
        request = self.pending
        assert request is not None
        return request

    def note(self) -> None:
        """Keep what is pending, with the checkpoint that it waits in."""
        request = self.pending
        if request is None:
            self.open = set()
            return
        state = self.talk.agent.get_state(self.talk.config)
        self.seen.setdefault(request.request_id, (request, state.config))
        last = next(one for one in reversed(state.values["messages"]) if isinstance(one, AIMessage))
        self.open = {str(one["id"]) for one in last.tool_calls}

    @invariant()
    def nothing_ran_that_nobody_allowed_and_nothing_twice(self) -> None:
        assert self.faults == []
        assert sum(self.ran.count(name) for name in ASKED) == len(self.executed)

    @invariant()
    def every_call_has_exactly_one_tool_message_in_its_place(self) -> None:
        state = self.talk.agent.get_state(self.talk.config)
        messages = state.values.get("messages", [])
        waiting: list[str] = []
        for message in messages:
            if isinstance(message, ToolMessage):
                assert message.tool_call_id in waiting
                waiting.remove(message.tool_call_id)
                continue
            assert waiting == []
            if isinstance(message, AIMessage):
                waiting = [str(one["id"]) for one in message.tool_calls]
        assert waiting == [] or (self.pending is not None and not isinstance(messages[-1], HumanMessage))


Approvals.TestCase.settings = settings(
    max_examples=40,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestApprovals = Approvals.TestCase
