"""The loop of a `GatedAgent`, step by step: a turn of the model, the questions about it, its calls.

What the next step is follows from the conversation alone, so that a session goes on wherever it was
left, in this process or another.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall, ToolMessage

from toolgate_langchain.approvals.carrying import AtOnce
from toolgate_langchain.approvals.request import ApprovalRequest
from toolgate_langchain.approvals.steps import Steps, arun_steps, run_steps
from toolgate_langchain.approvals.turn import TurnRecord
from toolgate_langchain.errors import TurnLimitReached
from toolgate_langchain.hosts.engine.answering import AnswerResult
from toolgate_langchain.hosts.engine.base_turns import BaseTurns
from toolgate_langchain.hosts.engine.calls import last_ai_message, with_refused_invalid_calls
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.engine.run_state import TURN
from toolgate_langchain.hosts.engine.unseen import tell_unreadable
from toolgate_langchain.hosts.gated.children import InnerPause
from toolgate_langchain.hosts.gated.model import read_reply, with_tools
from toolgate_langchain.hosts.gated.on_record import take_what_is_on_record
from toolgate_langchain.hosts.gated.tools import AgentLastStep, CallToRun, OutcomeWaits
from toolgate_langchain.policy.decision import Code
from toolgate_langchain.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from langchain_core.runnables import Runnable
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.hosts.engine.offering import Offering
    from toolgate_langchain.hosts.gated.progress import Progress
    from toolgate_langchain.hosts.gated.retrying import Retry
    from toolgate_langchain.hosts.gated.runs import SessionRuns

__all__ = ["AgentLoop"]

logger = logging.getLogger("toolgate_langchain")


class _Waits(Exception):  # it says what happens, and never leaves this module
    """A question has no answer yet."""

    def __init__(self, shown: dict[str, Any]) -> None:
        self.shown = shown


class _InSession(AtOnce):
    """The answers of a session's turn, which were claimed before the questions are gone through.

    Args:
        earlier: Those that the session has, as far as they are not given yet.
        new: The one that the run was resumed with, until it is given.
    """

    def __init__(self, earlier: Sequence[Any], new: Sequence[Any]) -> None:
        self._earlier, self._new = earlier, new

    def following(self, further: int = 0) -> Any:
        """See `Carrying.following`."""
        return next(iter((*self._earlier, *self._new)[further:]), None)


class AgentLoop(BaseTurns):
    """Takes one conversation after another from step to step.

    Args:
        runs: The agent's runs.
        model: What gives the turns.
        tools: The agent's tools.
        with_agents: The names of those that hold agents.
        offering: Says which of them are offered.
        retry: How often what failed for a moment is tried again.
        system: What stands before the conversation, where something does.
        max_turns: Turns of the model that one run may make.
    """

    pauses = (_Waits,)

    def __init__(
        self,
        runs: SessionRuns,
        *,
        model: Runnable[Any, Any],
        tools: Sequence[BaseTool | dict[str, Any]],
        with_agents: frozenset[str],
        offering: Offering,
        retry: Retry,
        system: SystemMessage | None,
        max_turns: int,
    ) -> None:
        super().__init__(runs)
        self._model, self._tools, self._offering = model, tools, offering
        self._retry, self._system, self._max_turns = retry, system, max_turns
        self._by_name = {tool.name: tool for tool in tools if not isinstance(tool, dict)}
        self._last_step = AgentLastStep(runs, retry, with_agents)
        self._given: tuple[list[Any], Runnable[Any, Any]] | None = None

    def step(self, progress: Progress, *, asynchronous: bool) -> Steps[bool]:
        """Take one step.

        Args:
            progress: The conversation; it is changed.
            asynchronous: Whether model and tools are awaited.

        Returns:
            Whether another step follows. If not, the run ended or waits for a person.

        Raises:
            TurnLimitReached: If the run would need one turn of the model more than it may make.
            HeuristicError: If a heuristic raises; nothing of the turn is kept.
        """
        if progress.status != "open":
            return False
        message = last_ai_message(progress.messages)
        if message is not None and (open_calls := _open_calls(progress.messages, message)):
            turn = TurnRecord.from_json(progress.state.get(TURN))
            if turn is not None and turn.message_id == message.id and not turn.settled:
                yield from self._ask(progress, message, turn)
            else:
                yield from self._run_calls(progress, message, open_calls, asynchronous=asynchronous)
        else:
            yield from self._turn_of_the_model(progress, asynchronous=asynchronous)
        return progress.status == "open"

    def hand_out(self, progress: Progress) -> Steps[None]:
        """Whoever drives the agent gets the session now: forget what the calls of turns that are over gave.

        Until then it has the session of before alone, and goes on from that where a model fails or a worker dies.

        Args:
            progress: The conversation, whose run ended or waits.
        """
        if not self._runs.kept:
            return
        message = last_ai_message(progress.messages)
        begun = message is not None and _results(progress.messages, message)
        if progress.status == "done" or (progress.further and not begun):
            yield from self._runs.forget_results(self._runs.run_of(progress.state, progress.where))

    # --- the model ----------------------------------------------------------------------------

    def _turn_of_the_model(self, progress: Progress, *, asynchronous: bool) -> Steps[None]:
        if progress.turns >= self._max_turns:
            raise TurnLimitReached(progress.session(), self._max_turns)
        run = self._runs.run_of(progress.state, progress.where)
        if self._runs.kept and progress.saved:
            # What the step before this one gave is in the session that was kept of it.
            yield from self._runs.forget_results(run)
        self._offering.further_models.check(self._model, progress.where)
        model, config = self._with_offered(run), progress.where.config
        said = [*([] if self._system is None else [self._system]), *progress.messages]
        if asynchronous:
            reply = yield lambda: self._retry.acall(lambda: model.ainvoke(said, config))
        else:
            reply = yield lambda: self._retry.call(lambda: model.invoke(said, config))
        before = progress.messages
        told = self._readable_message(read_reply(reply), before)
        message = cast("AIMessage", told[0])
        turn: TurnRecord | None = None
        if message.invalid_tool_calls and not message.tool_calls:
            told = with_refused_invalid_calls(message)
            message = cast("AIMessage", told[0])
        elif message.tool_calls and not self._judged_where_they_run(self._entries(message.tool_calls), run):
            turn = yield from self._judge_calls(run, message, message.tool_calls, progress.state, before)
            if turn is not None and (around := current_run.get()) is not None and around.children is None:
                _ask_nobody(turn, around.tool_name)
        yield from tell_unreadable(self._gate, run, message)
        # Only now: a heuristic that raises leaves nothing of the turn behind.
        progress.turns, progress.further = progress.turns + 1, True
        progress.state["messages"] = [*before, *told]
        if turn is not None:
            progress.state[TURN] = turn.to_json()
        if len(told) == 1 and not message.tool_calls:
            progress.status = "done"

    def _with_offered(self, run: Run) -> Runnable[Any, Any]:
        """The model with the tools that are offered in this run; kept while they are the same."""
        offered = self._offering.offered(self._tools, run.context)
        given = self._given
        if given is None or given[0] is not offered:
            # Read once: a run beside this one, with other rights, may put its own here at any time.
            given = self._given = offered, with_tools(self._model, offered)
        return given[1]

    # --- asking -------------------------------------------------------------------------------

    def _ask(self, progress: Progress, message: AIMessage, turn: TurnRecord) -> Steps[None]:
        """Go through the questions of a turn, as far as there are answers."""
        earlier = list(progress.answers)

        def ask(shown: dict[str, Any]) -> Any:
            if earlier:
                return earlier.pop(0)
            if not progress.given or shown["toolgate"]["request_id"] != progress.answering:
                raise _Waits(shown)
            progress.answers.append(progress.given.pop())
            return progress.answers[-1]

        run = self._runs.run_of(progress.state, progress.where)
        answered = {one.tool_call_id for one in _results(progress.messages, message)}
        try:
            carrying = _InSession(earlier, progress.given)
            update = yield from self._ask_all(run, turn, message, progress.state, answered, ask, carrying)
        except _Waits as waits:
            progress.request, progress.status = ApprovalRequest.from_interrupt(waits.shown), "waiting"
            _came_too_late(progress, turn)
            return
        _came_too_late(progress, turn)
        progress.state.update(update)
        progress.answers, progress.request = [], None

    def _refused_early(self, turn: TurnRecord, answered: Container[str]) -> list[ToolMessage]:
        """None: here a refusal never ends the run, and it keeps its place among the results."""
        return []

    # --- running ------------------------------------------------------------------------------

    def _run_calls(
        self, progress: Progress, message: AIMessage, calls: Sequence[ToolCall], *, asynchronous: bool
    ) -> Steps[None]:
        """Run the calls of a turn, at once where they are awaited. What ended is kept if one of them raises."""
        handler: Callable[[CallToRun], Any] = self._last_step.arun_tool if asynchronous else self._last_step.run_tool
        state = dict(progress.state)
        around = current_run.get()
        # An answer comes back into a tool that runs only where the agent around it keeps the conversation in it.
        ask = progress.ask_of_outcome if around is None or around.children is not None else None
        requests = [
            CallToRun(call, self._by_name.get(call["name"]), state, progress.where, children, ask)
            for call, children in progress.entered(calls)
        ]
        flows = [self._last_step.tool_steps(request, handler) for request in requests]
        outcomes: list[Any] = yield partial(_all_awaited if asynchronous else _one_after_another, flows)
        for request, outcome in zip(requests, outcomes, strict=False):
            progress.leave(str(request.tool_call["id"]), request.children, outcome)
        results = [one for one in outcomes if isinstance(one, ToolMessage)]
        progress.state["messages"] = _in_place(progress.messages, message, results)
        for one in outcomes:
            if isinstance(one, BaseException) and not isinstance(one, InnerPause | OutcomeWaits):
                raise one
        still = _open_calls(progress.messages, message)
        entered = [request.tool_call["id"] for request in requests]
        waits = {key: one for key, one in zip(entered, outcomes, strict=False) if isinstance(one, OutcomeWaits)}
        if (inside := progress.waits_inside([call for call in still if call["id"] not in waits])) is not None:
            if inside not in entered:
                yield from take_what_is_on_record(self._gate, progress)
            return
        if waits:
            first = next(iter(waits.values()))
            progress.request, progress.status = ApprovalRequest.from_interrupt(first.shown), "waiting"
            return
        if self._is_last_word(message, _results(progress.messages, message)):
            progress.status = "done"

    def _is_last_word(self, message: AIMessage, results: Sequence[ToolMessage]) -> bool:
        """Whether the results end the run: all tools return directly, and not all calls were refused."""
        return all(self._returns_directly(call["name"]) for call in message.tool_calls) and any(
            one.status != "error" or not _from_the_gate(one) for one in results
        )


def _ask_nobody(turn: TurnRecord, tool_name: str) -> None:
    """Refuse what a person would have to be asked about: an answer cannot come back into a tool that runs."""
    for call in turn.calls:
        if call.verdict is Verdict.ASK:
            call.verdict, call.outcome, call.code = Verdict.DENY, "refused", Code.UNATTENDED
            call.reason = f"the agent runs inside of the tool {tool_name!r}, from where nobody can be asked"
            logger.warning("refused %r: %s", call.name, call.reason)
    turn.settled = True


def _came_too_late(progress: Progress, turn: TurnRecord) -> None:
    """Say so where the answer that the run was resumed with was for a request that had expired."""
    late = progress.answering
    if progress.given and any(call.request_id == late and call.code == Code.EXPIRED for call in turn.calls):
        progress.given.clear()
        told = f"request {late} had expired; its call was denied and the run went on"
        progress.answer = AnswerResult("expired", told)


def _one_after_another(flows: Sequence[Steps[Any]]) -> list[Any]:
    """Run flows until one raises; its error is the last of what is given. A pause in one keeps none from running."""
    outcomes: list[Any] = []
    for flow in flows:
        try:
            outcomes.append(run_steps(flow))
        except (InnerPause, OutcomeWaits) as pause:
            outcomes.append(pause)
        except BaseException as error:
            return [*outcomes, error]
    return outcomes


async def _all_awaited(flows: Sequence[Steps[Any]]) -> list[Any]:
    """Run flows beside each other, each to its end; errors are given, not raised."""
    return await asyncio.gather(*(arun_steps(flow) for flow in flows), return_exceptions=True)


def _from_the_gate(message: ToolMessage) -> bool:
    return isinstance(message.artifact, dict) and "toolgate" in message.artifact


def _results(messages: Sequence[BaseMessage], message: AIMessage) -> list[ToolMessage]:
    """The tool messages behind the last message of the model."""
    place = next(place for place, one in enumerate(messages) if one is message)
    return [one for one in messages[place + 1 :] if isinstance(one, ToolMessage)]


def _open_calls(messages: Sequence[BaseMessage], message: AIMessage) -> list[ToolCall]:
    """The calls of the last message of the model that have no result yet."""
    answered = {one.tool_call_id for one in _results(messages, message)}
    return [call for call in message.tool_calls if call["id"] not in answered]


def _in_place(messages: Sequence[BaseMessage], message: AIMessage, new: Sequence[ToolMessage]) -> list[BaseMessage]:
    """The messages with results in the order of the calls."""
    place = next(place for place, one in enumerate(messages) if one is message)
    order = [call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)]
    results = [*_results(messages, message), *new]
    results.sort(key=lambda one: order.index(one.tool_call_id) if one.tool_call_id in order else len(order))
    others = [one for one in messages[place + 1 :] if not isinstance(one, ToolMessage)]
    return [*messages[: place + 1], *results, *others]
