"""Picking up runs that were answered while no worker was there: each answer is carried into its run once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from toolgate_langchain.approvals.attempts import new_name
from toolgate_langchain.approvals.steps import arun_steps, run_steps
from toolgate_langchain.errors import AlreadyAnsweredError, ConfigurationError, MissingCheckpointerError
from toolgate_langchain.hosts.gated.agent import GatedAgent
from toolgate_langchain.hosts.inside.observing import gates_of
from toolgate_langchain.hosts.langgraph.driving import answer_steps, pending_requests
from toolgate_langchain.hosts.side import Side

if TYPE_CHECKING:
    from toolgate_langchain.approvals.inbox import LeftAnswer
    from toolgate_langchain.approvals.request import ApprovalRequest
    from toolgate_langchain.approvals.steps import Steps
    from toolgate_langchain.hosts.engine.answering import AnswerResult
    from toolgate_langchain.hosts.gate import ToolGate

__all__ = ["Resumed", "aresume_answered", "resume_answered"]

logger = logging.getLogger("toolgate_langchain")

Became: TypeAlias = Literal[
    "resumed", "asked_again", "not_allowed", "elsewhere", "carried_before", "not_pending", "failed"
]

Threads: TypeAlias = Callable[[str], bool] | Collection[str] | None
ConfigOf: TypeAlias = Callable[[str], Mapping[str, Any]] | Mapping[str, Any] | None
ContextOf: TypeAlias = Callable[[str], Any] | None


@dataclass(frozen=True, slots=True)
class Resumed:
    """What became of one answer that waited, and of its run.

    `resumed`: the run went on. `asked_again`: the run could not use the answer, and `not_allowed`: whoever gave it
    may not, by the operator's rule; the request waits again, and says why. `elsewhere`: another worker is at it.
    `carried_before`: its run has it already. `not_pending`: nobody waits for it any more. `failed`: the run raised,
    and the answer waits for another try.
    """

    request_id: str
    thread_id: str
    tool_name: str
    status: Became
    detail: str = ""
    output: Any = None
    """What the agent returned, where its run went on."""
    error: Exception | None = None
    """What the run raised."""


def resume_answered(
    agent: Any,
    *,
    threads: Threads = None,
    config: ConfigOf = None,
    context: ContextOf = None,
    limit: int = 1_000,
) -> list[Resumed]:
    """Carry the answers that wait in the ledger into their runs, through the agent's checkpointer.

    Any number of workers may do so at once, as often as they like: each answer is carried by one of them. Interrupts
    that are not the gate's stay as they are. Threads that the checkpointer does not know are other agents', and left
    alone.

    Args:
        agent: The compiled agent, behind a gate with the ledger in which the answers were left.
        threads: The threads to look at, or a function that says whether to. Needed where agents share both the
            ledger and the checkpointer.
        config: The config of a run besides its thread, or a function of the thread that gives it.
        context: A function of the thread that gives the run's context object, as for `invoke`.
        limit: Answers to look at.

    Returns:
        What became of each, in the order in which they were given.

    Raises:
        ConfigurationError: If the agent is behind no gate, or a `GatedAgent`.
        MissingCheckpointerError: If it has no checkpointer.
        LedgerError: If the ledger cannot be read. What a single run raises is in its `Resumed`.
    """
    return run_steps(_resume(agent, threads, _Where(config, context), limit, asynchronous=False))


async def aresume_answered(
    agent: Any,
    *,
    threads: Threads = None,
    config: ConfigOf = None,
    context: ContextOf = None,
    limit: int = 1_000,
) -> list[Resumed]:
    """As `resume_answered`, for asynchronous code."""
    return await arun_steps(_resume(agent, threads, _Where(config, context), limit, asynchronous=True))


@dataclass(frozen=True, slots=True)
class _Where:
    """What a run is resumed with, by its thread."""

    config: ConfigOf
    context: ContextOf

    def config_of(self, thread_id: str) -> dict[str, Any]:
        given = self.config(thread_id) if callable(self.config) else self.config or {}
        return {**given, "configurable": {**given.get("configurable", {}), "thread_id": thread_id}}

    def context_of(self, thread_id: str) -> Any:
        return None if self.context is None else self.context(thread_id)


def _resume(agent: Any, threads: Threads, where: _Where, limit: int, *, asynchronous: bool) -> Steps[list[Resumed]]:
    gates = _gates(agent)
    wanted = threads if callable(threads) or threads is None else frozenset(threads).__contains__
    done: list[Resumed] = []
    for gate in gates:
        left: list[LeftAnswer] = yield partial(gate.ledger.left_answers, limit=limit)
        for one in left:
            if one.thread_id is None or (wanted is not None and wanted(one.thread_id) is not True):
                continue
            carrier = _Carrier(gate, agent, one, where, asynchronous=asynchronous)
            try:
                resumed = yield from carrier.carry()
            except AlreadyAnsweredError as error:
                resumed = carrier.told("elsewhere", str(error))
            except Exception as error:
                logger.warning("resuming thread %s failed; its answer is kept", one.thread_id, exc_info=True)
                resumed = carrier.told("failed", f"{type(error).__name__}: {error}", error=error)
            if resumed is not None:
                done.append(resumed)
    return done


def _gates(agent: Any) -> list[ToolGate]:
    """The gates of an agent, one for each of its ledgers."""
    if isinstance(agent, GatedAgent):
        raise ConfigurationError(
            "a GatedAgent has no checkpointer: give agent.resume(session) the session that waits, and it goes on with "
            "the answer that was left in the ledger"
        )
    found = gates_of(agent)
    if not found:
        raise ConfigurationError(
            "the agent is behind no gate, so no answer is for it; give what create_agent(middleware=[...]) returned"
        )
    if not getattr(agent, "checkpointer", None):
        raise MissingCheckpointerError(
            "the agent has no checkpointer, so there is no run to go on with; build it with the one that its runs "
            "were paused with"
        )
    return [gate for place, gate in enumerate(found) if all(gate.ledger is not one.ledger for one in found[:place])]


class _Carrier:
    """Carries one answer into its run."""

    def __init__(self, gate: ToolGate, agent: Any, left: LeftAnswer, where: _Where, *, asynchronous: bool) -> None:
        assert left.thread_id is not None
        self._gate, self._left, self._side = gate, left, Side(agent, asynchronous)
        self._thread, self._where = left.thread_id, where

    def told(self, status: Became, detail: str = "", output: Any = None, error: Exception | None = None) -> Resumed:
        left = self._left
        return Resumed(left.request_id, self._thread, left.tool_name, status, detail, output, error)

    def carry(self) -> Steps[Resumed | None]:
        left, ledger = self._left, self._gate.ledger
        if left.superseded:
            yield lambda: ledger.carried(left.request_id)
            return self.told("not_pending", "the run went another way before the answer was carried into it")
        config = self._where.config_of(self._thread)
        snapshot = yield lambda: self._side.state(config)
        if snapshot.created_at is None:
            return None
        if (request := self._pending_in(snapshot)) is not None:
            return (yield from self._answer(config, request))
        return (yield from self._go_on(config))

    def _pending_in(self, snapshot: Any) -> ApprovalRequest | None:
        found = (request for _, request in pending_requests(snapshot.interrupts))
        return next((request for request in found if request.request_id == self._left.request_id), None)

    def _answer(self, config: dict[str, Any], request: ApprovalRequest) -> Steps[Resumed]:
        left, ledger = self._left, self._gate.ledger
        given = replace(left.answer, request_id=left.request_id)
        context, side = self._where.context_of(self._thread), self._side
        result: AnswerResult = yield from answer_steps(
            self._gate, side.agent, config, given, asynchronous=side.asynchronous, context=context
        )
        match result.status:
            case "accepted":
                yield lambda: ledger.carried(left.request_id)
                return self.told("resumed", output=result.output)
            case "asked_again":
                return self.told("asked_again", result.detail, result.output)
            case "not_allowed":
                yield lambda: ledger.send_back(left.request_id, left.answer)
                # Whoever looks into the inbox next is told why it waits again.
                again = replace(request, error=f"{result.detail}. It still waits.")
                yield lambda: ledger.ask(again, thread_id=self._thread)
                return self.told("not_allowed", result.detail)
            case _:
                return self.told("elsewhere", result.detail)

    def _go_on(self, config: dict[str, Any]) -> Steps[Resumed]:
        """Go on with a run that took the answer in and then lost its worker."""
        left, ledger, holder = self._left, self._gate.ledger, new_name()
        if (yield lambda: ledger.claim(left.request_id, holder=holder)) is not True:
            return self.told("elsewhere", f"request {left.request_id} is being answered")
        try:
            # Only looked at with the claim in hand: the worker may have come to its end meanwhile.
            now: LeftAnswer | None = yield lambda: ledger.left_answer(left.request_id)
            if now is None:
                return self.told("carried_before", "its run has the answer")
            if not now.taken_in:
                return self.told("not_pending", "its request is not pending on this thread; the answer is kept")
            snapshot = yield lambda: self._side.state(config)
            if snapshot.interrupts or not snapshot.next:
                yield lambda: ledger.carried(left.request_id)
                return self.told("carried_before", "its run has the answer")
            context = self._where.context_of(self._thread)
            output = yield lambda: self._side.invoke(None, config, context)
            yield lambda: ledger.carried(left.request_id)
        finally:
            yield lambda: ledger.release(left.request_id, holder=holder)
        return self.told("resumed", "its run had stopped after the answer, and went on", output)
