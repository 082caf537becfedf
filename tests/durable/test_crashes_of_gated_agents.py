"""A `GatedAgent` dies at any step between request and recorded result; another goes on with the session kept last.

The worker dies in this process: from the step on, nothing that it would do to the ledger, to the session or to the
world is done any more.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool

from tests.durable.points import LEDGER, READS, Points
from tests.durable.workers import LEASE, Worksite
from tests.support import ScriptedModel, call, says, waited_for, with_profile
from toolgate_langchain import ApprovalSession, GatedAgent, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps
from toolgate_langchain.errors import AlreadyAnsweredError


class Killed(BaseException):
    """What nothing catches."""


class Dying(Points):
    """Raises at its step, and at everything after it."""

    dead = False

    def begin(self) -> None:
        """A method is called, by the living only."""
        if self.dead:
            raise Killed
        super().begin()

    def step(self) -> None:
        """One step is reached."""
        self.begin() if self._changes else None
        self.reached = next(self._numbers) + 1
        if self.dead or self.reached - 1 == self._die_at:
            self.dead = True
            raise Killed


@dataclass
class Conversation:
    """A conversation that workers take over from each other, and the world in which it has effects.

    The model calls `helper`; the agent in there calls `remove`, which needs a person.
    """

    site: Worksite
    asynchronous: bool
    helper: ToolProfile
    """The profile of the tool that the other agent works in."""
    hidden: bool = False
    """Whether that agent is built inside of the tool, where nobody sees it before."""
    kept: Any = None
    """The session that was kept last, in its JSON form."""
    said: set[str] = field(default_factory=set)
    """Calls that a person approved."""
    deeds: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def tool(self, name: str, points: Points) -> BaseTool:
        def run(**_: Any) -> str:
            points.step()
            if name not in self.said:
                self.faults.append(f"{name} ran, and nobody had approved it")
            self.deeds.append(name)
            points.step()
            return f"ran {name}"

        async def arun(**_: Any) -> str:
            return run()

        schema = {"type": "object", "properties": {}}
        made = StructuredTool(name=name, description=name, func=run, coroutine=arun, args_schema=schema)
        return with_profile(made, ToolProfile(tier=Tier.CONSEQUENTIAL))

    def worker(self, points: Points) -> GatedAgent:
        """An agent of a worker's own, on the shared ledger."""
        ledger = self.site.ledger()
        gate = ToolGate(ledger=points.around(ledger, LEDGER), clock=self.site.clock)
        remove = self.tool("remove", points)

        def inner() -> GatedAgent:
            return GatedAgent(_model("remove"), [remove], gate, name="inner")

        inside = [] if self.hidden else [inner()]

        def run() -> str:
            told = (inside[0] if inside else inner()).invoke("go")["messages"][-1].text
            self.deeds.append("helper")
            return told

        async def arun() -> str:
            told = (await (inside[0] if inside else inner()).ainvoke("go"))["messages"][-1].text
            self.deeds.append("helper")
            return told

        helper = with_profile(StructuredTool.from_function(run, arun, "helper", "Let an agent do it."), self.helper)

        def keep(session: ApprovalSession) -> None:
            points.step()
            self.kept = session.to_json()
            points.step()

        return GatedAgent(_model("helper"), [helper], gate, keep=keep)

    def go_on(self, agent: GatedAgent) -> Steps[Any]:
        """Go on with the session that was kept last, to the end, asking a person whatever there is to be asked."""
        invoke, resume = (agent.ainvoke, agent.aresume) if self.asynchronous else (agent.invoke, agent.resume)
        output = yield lambda: invoke("go") if self.kept is None else resume(self.kept)
        for _ in range(12):
            request, became = output["request"], output["answer"]
            if request is None:
                return output["messages"]
            if became is not None and became.status == "already_answered":
                # A worker that died had begun to carry an answer of the same person.
                raise AlreadyAnsweredError(became.detail)
            answer = yield from self.answer(agent, request)
            output = yield partial(resume, output["session"], answer)
        self.faults.append("it never comes to an end")
        return []

    def answer(self, agent: GatedAgent, request: ApprovalRequest) -> Steps[dict[str, Any]]:
        """A person says what there is to say, and is never asked what is on record."""
        name = request.tool_name
        if (yield lambda: agent.gate.ledger.answer_to(request.request_id)) is not None:
            self.faults.append(f"the answer to {request.kind} {name} was lost: it is asked for again")
        self.asked.append(f"{request.kind} {name}")
        kind = "approve"
        if request.kind == "outcome":
            kind = "done" if name in self.deeds else "try_again"
        else:
            self.said.add(name)
        return {"type": kind, "request_id": request.request_id}

    def work(self, points: Points) -> Any:
        """A worker's life: what it came to, or `None` where it died or another may still be at a call."""
        flow = self.go_on(self.worker(points))
        try:
            return waited_for(arun_steps(flow)) if self.asynchronous else run_steps(flow)
        except Killed:
            return None
        except AlreadyAnsweredError:
            self.site.clock.forward(seconds=LEASE / timedelta(seconds=1))
            return None

    def look(self, messages: Any) -> None:
        """What must hold in the end."""
        told = [one.tool_call_id for one in messages if isinstance(one, ToolMessage)]
        if told != ["helper"] or messages[-1].text != "done":
            self.faults.append(f"it ends with {[(one.type, one.text) for one in messages]}")
        once = ["remove"] if self.helper.tier is Tier.READ_ONLY else ["helper", "remove"]
        if sorted(one for one in self.deeds if one in once) != once:
            self.faults.append(f"what was done is {self.deeds}, and was asked {self.asked}")


def _model(*calls: str) -> ScriptedModel:
    def turn(messages: list[Any]) -> AIMessage:
        if any(isinstance(one, AIMessage) for one in messages):
            return says(text="done")
        return says(*(call(name, name) for name in calls))

    return ScriptedModel(script=[turn] * 20)


def die_at(number: int, site: Worksite, **about: Any) -> tuple[bool, Conversation]:
    """One worker dies at a step, and others bring the conversation to its end.

    Returns:
        Whether the worker came to die there, and the conversation.
    """
    talk = Conversation(site, **about)
    points = Dying(number, changes=True)
    messages = talk.work(points)
    if died := points.dead:
        for _ in range(6):
            if messages is None:
                messages = talk.work(Dying(None, changes=True))
    talk.look(messages or [])
    talk.faults += [f"it died at step {number}, and was asked {talk.asked}"] if talk.faults else []
    return died, talk


@pytest.mark.parametrize(
    ("asynchronous", "tier", "hidden"),
    [(False, Tier.READ_ONLY, True), (True, Tier.CONSEQUENTIAL, False)],
    ids=["built inside, sync", "consequential, async"],
)
def test_at_every_step_another_agent_brings_the_conversation_to_its_end_and_a_person_says_what_is_unknown(
    small_site: Worksite, asynchronous: bool, tier: Tier, hidden: bool
) -> None:
    asked: set[str] = set()
    for number in count():
        about: dict[str, Any] = {"asynchronous": asynchronous, "helper": ToolProfile(tier=tier), "hidden": hidden}
        died, talk = die_at(number, small_site, **about)
        assert not talk.faults, "; ".join(talk.faults)
        asked.update(talk.asked)
        if not died:
            break
    assert number > 12
    assert asked >= {"approval remove", "outcome remove"}
    assert ("outcome helper" in asked) is (tier is Tier.CONSEQUENTIAL)


def test_no_change_of_the_ledger_is_left_out() -> None:
    assert {"answer", "claim", "end", "grant", "start", "try_again"} <= set(LEDGER) - READS
