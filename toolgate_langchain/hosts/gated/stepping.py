"""A run of a `GatedAgent`, step by step, with what whoever runs it is given on the way and at its end.

Inside of a tool of LangGraph's the steps are those of a small graph; inside of a tool of another `GatedAgent` the
conversation is kept in the session of that one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict, cast

from langchain_core.messages import BaseMessage

from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps
from toolgate_langchain.errors import ToolApprovalRequired
from toolgate_langchain.hosts.engine.answering import AnswerResult
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.gated.children import InnerPause
from toolgate_langchain.hosts.gated.entry import Entry, words_alone
from toolgate_langchain.hosts.gated.session import ApprovalSession

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Sequence

    from langchain_core.runnables import RunnableConfig
    from langchain_core.tools import BaseTool

    from toolgate_langchain.hosts.gated.loop import AgentLoop
    from toolgate_langchain.hosts.gated.progress import Progress
    from toolgate_langchain.hosts.gated.runs import SessionRuns
    from toolgate_langchain.hosts.inside.in_graph import InGraph

__all__ = ["GatedAgentOutput", "Stepping"]


class GatedAgentOutput(TypedDict):
    """What a `GatedAgent` returns. A stream gives it in parts: new messages as they come, the rest at the end."""

    messages: list[BaseMessage]
    """The whole conversation; in a stream, what is new."""

    request: ApprovalRequest | None
    """What a person has to be asked now; `None` where the run ended."""

    session: ApprovalSession
    """What to keep: for the answer, and for the user's next words."""

    answer: AnswerResult | None
    """What became of the answer that the run was resumed with; `None` where there was none."""


class Stepping:
    """Takes the steps of one agent.

    Args:
        name: The agent's name.
        tools: Its tools that run in this process.
        runs: Its runs.
        entry: How its runs begin and are left.
        loop: What one step is.
        keep: Called with the session after every step.
        raises: Whether it raises where a person is needed, instead of returning.
    """

    def __init__(
        self,
        name: str,
        tools: Sequence[BaseTool],
        runs: SessionRuns,
        entry: Entry,
        loop: AgentLoop,
        *,
        keep: Callable[[ApprovalSession], Any] | None,
        raises: bool,
    ) -> None:
        self._name, self._tools, self._runs = name, tools, runs
        self._entry, self._loop, self._keep, self._raises = entry, loop, keep, raises

    def parts(self, given: Any, config: RunnableConfig) -> Iterator[GatedAgentOutput]:
        """Run until the agent is done or a person is needed; the last part has all but the messages.

        Args:
            given: What the agent was given.
            config: The config that it runs with.

        Raises:
            ToolApprovalRequired: If a person is needed and it raises then.
            InnerPause: If a person is needed and it runs inside of a tool of another `GatedAgent`.
        """
        if (kept := self._in_graph(given, config)) is not None:
            for progress in kept.stream():
                if part := _new(progress):
                    yield part
            yield self._last(progress)
            return
        progress = run_steps(self._entry.enter(given, config))
        progress.saved = self._saves_each_step()
        try:
            more = True
            while more:
                more = run_steps(self._step(progress, asynchronous=False))
                if part := _new(progress):
                    yield part
            run_steps(self._loop.hand_out(progress))
            yield self._last(progress)
        finally:
            run_steps(self._entry.leave(progress))

    async def aparts(self, given: Any, config: RunnableConfig) -> AsyncIterator[GatedAgentOutput]:
        """As `parts`, for asynchronous runs."""
        if (kept := self._in_graph(given, config)) is not None:
            async for progress in kept.astream():
                if part := _new(progress):
                    yield part
            yield self._last(progress)
            return
        progress = await arun_steps(self._entry.enter(given, config))
        progress.saved = self._saves_each_step()
        try:
            more = True
            while more:
                more = await arun_steps(self._step(progress, asynchronous=True))
                if part := _new(progress):
                    yield part
            await arun_steps(self._loop.hand_out(progress))
            yield self._last(progress)
        finally:
            await arun_steps(self._entry.leave(progress))

    def _in_graph(self, given: Any, config: RunnableConfig) -> InGraph | None:
        """What keeps the conversation where the agent runs inside of a tool of LangGraph's; else `None`."""
        around = current_run.get()
        if around is None or around.children is not None or not hasattr(around.runtime, "tool_call_id"):
            return None
        if not (words := words_alone(given)):
            return None
        from toolgate_langchain.hosts.inside.in_graph import InGraph, Parts

        parts = Parts(self._name, self._runs, self._tools, self._entry, self._step)
        return InGraph(parts, given, words, config, around)

    def _saves_each_step(self) -> bool:
        """Whether `keep` has what the run goes on from; inside of a tool that is the session of the agent around it."""
        around = current_run.get()
        return self._keep is not None and (around is None or around.children is None)

    def _step(self, progress: Progress, *, asynchronous: bool) -> Steps[bool]:
        """One step, after which the session is kept, also where it raised."""
        keep = self._keep
        try:
            more = yield from self._loop.step(progress, asynchronous=asynchronous)
        except Exception:
            if keep is not None:
                yield partial(keep, progress.session())
            raise
        if keep is not None:
            yield partial(keep, progress.session())
        return more

    def _last(self, progress: Progress) -> GatedAgentOutput:
        session, request = progress.session(), progress.request
        _keep_in_the_call_around(progress, session)
        if request is not None and self._raises:
            raise ToolApprovalRequired(session, request)
        return {"messages": [], "request": request, "session": session, "answer": progress.became_of_the_answer()}


def _keep_in_the_call_around(progress: Progress, session: ApprovalSession) -> None:
    """Keep the conversation of an agent inside of a tool in the session of the agent around it, and let it wait there.

    Raises:
        InnerPause: Where it waits.
    """
    around = current_run.get()
    children = None if around is None else around.children
    if children is None or progress.key is None:
        return
    children.now[progress.key] = session.to_json()
    if session.request is not None:
        pause = InnerPause(
            f"{session.request.tool_name!r} needs a person's approval; the agent around this one asks for it"
        )
        children.left.append(pause)
        raise pause


def _new(progress: Progress) -> GatedAgentOutput | None:
    """The messages that whoever streams has not seen."""
    messages = progress.messages[progress.told :]
    progress.told = len(progress.messages)
    return cast("GatedAgentOutput", {"messages": messages}) if messages else None
