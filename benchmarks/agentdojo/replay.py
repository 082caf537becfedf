"""One suite through a real agent behind the gate: the model says what is recorded, a person answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from benchmarks.agentdojo.labels import LABELS
from toolgate_langchain import (
    FlowPolicy,
    Surface,
    ToolGate,
    ToolGateMiddleware,
    ToolProfile,
    Verdict,
    pending_requests,
)
from toolgate_langchain.testing import ScriptedModel, call, says

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.agentdojo.traces import Step, Suite

__all__ = ["POLICIES", "Played", "Result", "lines", "play_suite"]


def _by_flow() -> ToolGate:
    surface = Surface("bench", routine=Verdict.ALLOW, consequential=Verdict.ALLOW)
    return ToolGate(surfaces=[surface], argument_policies=[FlowPolicy()])


def _every_change() -> ToolGate:
    return ToolGate(surfaces=[Surface("bench")])


POLICIES: dict[str, Callable[[], ToolGate]] = {"flow": _by_flow, "every-change": _every_change}
"""What is measured: changes run unless the flow policy objects, or every change is asked about."""


@dataclass
class Played:
    """What became of one run."""

    name: str
    steps: tuple[Step, ...]
    asked: dict[int, str] = field(default_factory=dict)
    """The steps that were asked about, with the reason."""
    refused: set[int] = field(default_factory=set)

    @property
    def unasked(self) -> bool:
        """Whether none of the attacker's calls was asked about or refused."""
        hostile = [place for place, step in enumerate(self.steps) if step.hostile]
        return not any(place in self.asked or place in self.refused for place in hostile)


@dataclass
class Result:
    """One suite."""

    name: str
    tasks: list[Played]
    attacks: list[Played]

    @property
    def questions(self) -> int:
        """Questions of all benign tasks together."""
        return sum(len(task.asked) for task in self.tasks)

    @property
    def without_question(self) -> int:
        """Benign tasks with no question."""
        return sum(not task.asked for task in self.tasks)

    @property
    def unasked(self) -> int:
        """Attacks of which nobody was asked about anything."""
        return sum(attack.unasked for attack in self.attacks)


@dataclass
class _Output:
    """What the tool that runs next gives. The tools hold this and not the agent, which would be looked for in each."""

    given: tuple[str, Any] = ("", None)


class _Desk:
    """An agent with the tools of one suite, for one run after another."""

    def __init__(self, suite: Suite, gate: ToolGate) -> None:
        self._output = _Output()
        self._model, self._threads = ScriptedModel(), count(1)
        profiles = LABELS[suite.name]
        tools = [self._tool(name, schema, profiles[name]) for name, schema in suite.schemas.items()]
        self._agent: Any = create_agent(
            self._model, tools, middleware=[ToolGateMiddleware(gate, surface="bench")], checkpointer=InMemorySaver()
        )

    def _tool(self, name: str, schema: dict[str, Any], profile: ToolProfile) -> BaseTool:
        output = self._output
        return StructuredTool(
            name=name,
            description=name,
            args_schema={**schema, "type": "object", "properties": schema.get("properties", {})},
            func=lambda **_: output.given,
            response_format="content_and_artifact",
            metadata={"toolgate": profile},
        )

    def play(self, name: str, prompt: str, steps: tuple[Step, ...]) -> Played:
        """Play one run. A person says no to what the attacker wants and yes to all else."""
        played, ids = Played(name, steps), dict[str, int]()
        turns: list[Any] = []
        for place, step in enumerate(steps):
            made = call(step.tool, f"step_{place}", **step.arguments)
            ids[str(made["id"])] = place
            turns.append(self._turn(step, says(made)))
        self._model.script[:] = turns
        self._model.seen.clear()
        config: Any = {"configurable": {"thread_id": str(next(self._threads))}}
        given: Any = {"messages": [HumanMessage(prompt)]}
        while True:
            self._agent.invoke(given, {**config, "recursion_limit": 1_000})
            pending = pending_requests(self._agent.get_state(config).interrupts)
            if not pending:
                break
            (_, request) = pending[0]
            place = ids[request.tool_call_id]
            played.asked[place] = request.reason
            given = _answer(request.request_id, approve=not steps[place].hostile)
        messages = self._agent.get_state(config).values["messages"]
        for message in messages:
            if isinstance(message, ToolMessage) and _refused(message):
                played.refused.add(ids[message.tool_call_id])
        return played

    def _turn(self, step: Step, said: AIMessage) -> Callable[[Any], AIMessage]:
        def turn(_: Any) -> AIMessage:
            self._output.given = step.output, step.structure
            return said

        return turn


def _answer(request_id: str, *, approve: bool) -> Any:
    return Command(resume={"type": "approve" if approve else "reject", "request_id": request_id})


def _refused(message: ToolMessage) -> bool:
    return isinstance(message.artifact, dict) and "toolgate" in message.artifact


def play_suite(suite: Suite, gate: ToolGate, *, progress: Callable[[str], None] = lambda _: None) -> Result:
    """Play all tasks and attacks of a suite.

    Args:
        suite: The suite.
        gate: The gate; it has a surface `bench`.
        progress: Told what is played.
    """
    desk = _Desk(suite, gate)
    progress(f"{suite.name}: {len(suite.tasks)} tasks, {len(suite.attacks)} attacks")
    tasks = [desk.play(task.name, task.prompt, task.steps) for task in suite.tasks]
    attacks = [desk.play(f"{one.task} {one.goal}", one.prompt, one.steps) for one in suite.attacks]
    return Result(suite.name, tasks, attacks)


def lines(results: Sequence[Result]) -> Iterator[str]:
    """The table of what was measured."""
    yield "| suite | tasks | questions per task | tasks with no question | attacks | run unasked |"
    yield "| --- | --- | --- | --- | --- | --- |"
    rows = [(one.name, [one]) for one in results]
    for name, group in [*rows, ("all", results)]:
        tasks, attacks = sum(len(one.tasks) for one in group), sum(len(one.attacks) for one in group)
        questions, unasked = sum(one.questions for one in group), sum(one.unasked for one in group)
        quiet = sum(one.without_question for one in group)
        share = unasked / attacks if attacks else 0.0
        yield f"| {name} | {tasks} | {questions / tasks:.2f} | {quiet} | {attacks} | {share:.1%} ({unasked}) |"
