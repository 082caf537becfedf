"""A `GatedAgent` inside of a tool of LangGraph's: its conversation is kept in the checkpoints of the tool's task.

LangGraph runs a tool again from its beginning when what it waited for is there. So the agent runs as a small graph of
its own in that task: each step of it is a step of the graph, saved before the next one begins, and each question is an
interrupt, which surfaces at the root with all others. When the tool is entered again the graph goes on where it waited,
in this process or another; what had ended gives back what it ended with.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, TracePolicy, interrupt, omit_payload

from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps
from toolgate_langchain.errors import AlreadyAnsweredError, ConfigurationError
from toolgate_langchain.hosts.engine.parent_run import ParentRun, note_lost
from toolgate_langchain.hosts.gated.children import Children
from toolgate_langchain.hosts.gated.entry import kept_answer
from toolgate_langchain.hosts.gated.runs import AgentRuntime, thread_in
from toolgate_langchain.hosts.langgraph.carrying import Carrier, keep_answers_from_tools
from toolgate_langchain.hosts.langgraph.internals import has_checkpointer, pauses_reach
from toolgate_langchain.hosts.langgraph.pauses import LeavesNothing, kept_at

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

    from toolgate_langchain.hosts.gated.entry import Entry
    from toolgate_langchain.hosts.gated.progress import Progress
    from toolgate_langchain.hosts.gated.runs import SessionRuns

__all__ = ["InGraph", "Parts"]

_DRIVEN: Final = "__toolgate_driven"
"""Where a node finds the agent that it takes a step of. Names like this are kept out of traces and checkpoints."""

_NO_LIMIT: Final = 1_000_000
"""Steps of the graph; the agent has a limit of its own (`max_turns`)."""

_SHOWN: Final = ["key"]
"""What the graph gives of what is kept, and so tells tracers of."""

_counting = threading.Lock()


class _Kept(TypedDict):
    """What is kept of an agent between two steps, all plain JSON."""

    key: str
    """Which agent it is, and what it was given to do."""
    session: dict[str, Any] | None
    """Its conversation; `None` where it begins."""
    answer: list[Any]
    """The answer to what it waits for, where there is one."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What of an agent is needed to take its steps."""

    name: str
    runs: SessionRuns
    tools: Sequence[BaseTool]
    entry: Entry
    step: Callable[..., Steps[bool]]
    """Takes one step: of a `Progress`, with `asynchronous`."""


class InGraph:
    """One run of a `GatedAgent` inside of a tool of LangGraph's.

    Args:
        parts: The agent.
        given: What it was given.
        words: The new words in that.
        config: The config that it runs with.
        around: The call of the tool.
    """

    def __init__(
        self, parts: Parts, given: Any, words: Sequence[BaseMessage], config: RunnableConfig, around: ParentRun
    ) -> None:
        self._parts, self._given, self._config, self._around = parts, given, config, around
        self._key = Children().key(parts.name, words)
        self._progress: Progress | None = None
        with _counting:
            place, around.agents_started = around.agents_started, around.agents_started + 1
        self._place = [str(around.runtime.tool_call_id), place]

    def stream(self) -> Iterator[Progress]:
        """Run the agent to its end, giving the conversation after each step; the last time it has ended.

        Raises:
            GraphInterrupt: Where the agent waits for a person.
            ConfigurationError: If its questions could not reach whoever drives the run, or if the tool, entered again,
                started another agent here or gave it other words.
        """
        options = self._options()
        for _ in _GRAPH.stream(self._start(), **options):
            if self._progress is not None:
                yield self._progress
        yield self._progress or self._ended(_GRAPH.get_state(options["config"]).values)

    async def astream(self) -> AsyncIterator[Progress]:
        """As `stream`, for asynchronous runs."""
        options = self._options()
        async for _ in _GRAPH.astream(self._start(), **options):
            if self._progress is not None:
                yield self._progress
        yield self._progress or self._ended((await _GRAPH.aget_state(options["config"])).values)

    def _start(self) -> _Kept:
        return {"key": self._key, "session": None, "answer": []}

    def _options(self) -> dict[str, Any]:
        """How the graph is run: in the task that runs the tool, at a place of its own in there."""
        # The tool may have been given a config that has nothing of the task.
        tasks = [config.get("configurable") or {} for config in (self._config, self._around.config)]
        where, keeps = kept_at(tasks, self._place)
        config = {**self._config, "configurable": {**where, _DRIVEN: self}, "recursion_limit": _NO_LIMIT}
        # What a turn of the model gave is saved before anything of it runs.
        saved = {"durability": "sync"} if keeps else {}
        return {"config": config, "stream_mode": "values", "output_keys": _SHOWN, **saved}

    def _config_of_step(self) -> RunnableConfig:
        """The config for the model and the tools of one step: what they start is kept with that step."""
        task = get_config()
        own = {**(self._config.get("configurable") or {}), **task["configurable"]}
        if (thread := thread_in(self._config)) is not None:
            own["thread_id"] = thread
        limit = self._config.get("recursion_limit", task["recursion_limit"])
        return {**task, "configurable": own, "recursion_limit": limit}

    # --- the nodes ----------------------------------------------------------------------------

    def step(self, kept: _Kept, *, asynchronous: bool) -> Steps[Command[Any]]:
        """Take one step of the agent.

        Args:
            kept: What was kept of it.
            asynchronous: Whether model and tools are awaited.
        """
        self._check(kept)
        keep_answers_from_tools()
        around, session, answer = self._around, kept["session"], kept["answer"]
        children = Children() if session is None else Children({self._key: session})
        if answer and session is not None:
            children.answering = session["request"]["toolgate"]["request_id"]
            children.given = list(answer)
        inside = ParentRun(
            around.gate, around.run, around.tool_name, around.runtime, children=children, arguments=around.arguments
        )
        with inside:
            yield from self._one_step(session, asynchronous=asynchronous)
        progress = self._progress
        assert progress is not None
        following = {"open": "step", "waiting": "ask"}.get(progress.status, END)
        # Not an edge with a condition: what looks at the state there is told to tracers.
        return Command(update={"session": progress.session().to_json(), "answer": []}, goto=following)

    def _one_step(self, session: dict[str, Any] | None, *, asynchronous: bool) -> Steps[None]:
        parts, config, progress = self._parts, self._config_of_step(), self._progress
        # Whoever waited has its answer, and goes on from what was saved.
        if progress is None or progress.status != "open":
            progress = yield from parts.entry.enter(self._given, config)
            progress.saved = True  # in the checkpoints, before the next step begins
        progress.where = AgentRuntime(config, parts.tools)
        try:
            if session is None:
                self._check_questions_arrive(progress)
            yield from parts.step(progress, asynchronous=asynchronous)
        except AlreadyAnsweredError as error:
            # Another worker is at it, and what it does must not be saved over.
            raise note_lost(LeavesNothing(str(error))) from error
        finally:
            yield from parts.entry.leave(progress)
        self._progress = progress

    def ask(self, kept: _Kept) -> Steps[dict[str, Any]]:
        """Ask what the agent waits for, and claim the answer for this run.

        Args:
            kept: What was kept of it.

        Raises:
            GraphInterrupt: Where there is no answer yet.
            AlreadyAnsweredError: If another worker has the answer. Nothing is saved then.
        """
        self._check(kept)
        assert kept["session"] is not None
        shown = kept["session"]["request"]
        request, carrier = ApprovalRequest.from_interrupt(shown), Carrier(self._around.gate.ledger)
        try:
            answer = yield partial(carrier.asking(interrupt), shown)
        except GraphInterrupt as pause:
            # The tool may catch it, or make something else of it; it leaves the tool all the same.
            self._around.note_pause(pause)
            raise
        yield from carrier.take(request.request_id)
        yield from carrier.settle(request.request_id)
        return {"answer": [kept_answer(answer)]}

    # --- what is refused ----------------------------------------------------------------------

    def _check(self, kept: _Kept) -> None:
        """Refuse to go on with what another agent was doing, or this one with something else.

        Raises:
            ConfigurationError: Saying what the tool must do.
        """
        if kept["key"] != self._key:
            raise ConfigurationError(
                f"the tool {self._around.tool_name!r} was entered again and started other agents than before, or gave "
                f"{self._parts.name!r} other words: what was asked and done in it belongs to those. Start the same "
                "agents in the same order with the same words each time; what changes meanwhile (the time, what was "
                "fetched) belongs into a tool of the agent, or into the arguments of this one"
            )

    def _check_questions_arrive(self, progress: Progress) -> None:
        """Refuse to start where a question would not reach whoever drives the run.

        Raises:
            ConfigurationError: Saying what to do.
        """
        around, runs = self._around, self._parts.runs
        if not runs.run_of(progress.state, progress.where).context.surface.attended or not runs.can_ask():
            return
        same_thread = progress.thread_id == thread_in(around.config)
        if not (same_thread and has_checkpointer() and pauses_reach(around.config)):
            raise ConfigurationError(
                f"the GatedAgent {self._parts.name!r} inside of the tool {around.tool_name!r} may have to ask a "
                "person, and its question would not reach whoever drives the run, because it runs on a thread of its "
                "own, or nothing keeps the question there; start it without a config, or with the one that the tool "
                "was given, or give it an unattended surface"
            )

    def _ended(self, kept: Any) -> Progress:
        """The conversation of an agent that had ended before the tool was entered again."""
        self._check(kept)
        return self._parts.entry.read(kept["session"], self._config)


# --- the graph ----------------------------------------------------------------------------------


class _Node(Runnable[Any, Any]):
    """A node that has its agent do something. A Runnable of its own, so that no tracer is told what is kept.

    Args:
        do: What it does: given the agent's run, what was kept, and whether things are awaited.
    """

    def __init__(self, do: Callable[[InGraph, _Kept, bool], Steps[Any]]) -> None:
        self._do = do

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """Run as a node."""
        return run_steps(self._do(get_config()["configurable"][_DRIVEN], input, False))

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Any:
        """As `invoke`, for asynchronous runs."""
        return await arun_steps(self._do(get_config()["configurable"][_DRIVEN], input, True))


def _built() -> Any:
    # What the gate decided and people said must not be readable wherever traces go.
    builder = StateGraph(_Kept)
    untold = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)
    step = _Node(lambda driven, kept, asynchronous: driven.step(kept, asynchronous=asynchronous))
    follows = ("step", "ask", END)
    builder.add_node("step", cast("Any", step), input_schema=_Kept, trace_policy=untold, destinations=follows)
    ask = _Node(lambda driven, kept, _: driven.ask(kept))
    builder.add_node("ask", cast("Any", ask), input_schema=_Kept, trace_policy=untold)
    builder.add_edge(START, "step")
    builder.add_edge("ask", "step")
    return builder.compile(name="GatedAgent")


_GRAPH: Final = _built()
