"""The gate: one object that holds what an operator configured, and answers for every call."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from toolgate_langchain.approvals.heuristics import Heuristic, check_heuristics
from toolgate_langchain.approvals.identity import UNSAID
from toolgate_langchain.approvals.judge import (
    DEFAULT_MAX_AUTO_APPROVALS,
    DEFAULT_MAX_REQUESTS,
    TurnJudge,
)
from toolgate_langchain.approvals.memory_ledger import InMemoryLedger
from toolgate_langchain.approvals.preview import PREVIEW_SECONDS, check_preview_seconds
from toolgate_langchain.approvals.recording.recorder import Recorder
from toolgate_langchain.approvals.steady import SteadyClock
from toolgate_langchain.catalog.catalog import ToolCatalog
from toolgate_langchain.errors import ConfigurationError, needs_extra
from toolgate_langchain.hosts.checks import (
    check_callables,
    check_caps,
    check_expiry,
    check_kinds,
    check_lists,
    check_record,
)
from toolgate_langchain.hosts.deciding import Deciding
from toolgate_langchain.hosts.engine.named import Named, named_tools
from toolgate_langchain.hosts.offers import surfaces_by_name
from toolgate_langchain.hosts.remembered import Remembered
from toolgate_langchain.policy.approval_rule import ApprovalRule
from toolgate_langchain.policy.decide import Rulebook
from toolgate_langchain.policy.surface import Surface

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from datetime import timedelta

    from langchain.agents.middleware.types import AgentMiddleware
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.described import Describe
    from toolgate_langchain.approvals.identity import Approvers, Unsaid
    from toolgate_langchain.approvals.ledger import Ledger
    from toolgate_langchain.approvals.queue import AnswerMode
    from toolgate_langchain.approvals.recording.recorder import RecordLevel
    from toolgate_langchain.hosts.graphs.graph import GraphGate
    from toolgate_langchain.hosts.langgraph.driving import AnswerResult
    from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware
    from toolgate_langchain.hosts.record import Observer
    from toolgate_langchain.policy.arguments import ArgumentPolicy

__all__ = ["DEFAULT_SURFACES", "ToolGate"]

DEFAULT_SURFACES = (Surface("chat"), Surface("cli"), Surface("cron", attended=False))
"""The surfaces of a gate that names none."""


class ToolGate(Deciding, Remembered):
    """One gate for every tool call: what may be offered, what runs, what waits, what is refused.

    Args:
        catalog: The tools; left out, the agent's own tools are met at first sight.
        surfaces: Where runs are driven from; left out, `chat` and `cli` (attended) and `cron`
            (unattended), all with their defaults.
        approval_rule: The single definition of "this needs a person".
        argument_policies: Checks that see the arguments of each call, in order.
        heuristics: Functions that may auto-approve one call, in order; the first `True` wins.
        max_auto_approvals: Turns in a row that rules and heuristics may release unasked, at least 1.
        max_requests_per_turn: Requests of one turn; calls beyond are refused. At least 1.
        ledger: Where answers, grants and the memory of runs are kept.
        answers: `"strict"`: an answer names its request. `"lenient"`, for screens that cannot:
            an answer without an id goes to the pending request and carries no memory.
        describe: What the operator says of one call, shown to the person beside it: a function of the
            call and its context (as for a heuristic) that gives a text or `None`.
        approvers: Who may answer: a function of the request and of who answers (`None` for nobody), which may
            be asynchronous. Anything but `True` is a no: the request goes on waiting. Asked again at the last step.
        on_decision: Called with a `CallOutcome` for every call at its end. What it raises is logged.
        record: Which calls are written into the record, where the ledger keeps one: `"decisions"`, all but those
            that only read and that nobody had to be asked about; `"all"`, those too. A call that is to be written
            and cannot be does not run.
        record_results: Whether the record keeps what tools gave, and not only its digest and size.
        request_expiry: For how long a request can be answered, from when it is first shown; `None` for as long as it
            waits. Afterwards it is denied as expired, and the run goes on when it is resumed. Needs `"strict"` answers.
        preview_seconds: How long a tool's preview may take, each time it is taken; one that takes longer has failed.
        clock: The time, with a time zone.
        new_id: Gives random ids.

    Raises:
        ConfigurationError: (a `ValueError`) for duplicate surfaces, a cap below 1, or anything that
            is not what it should be; the message names the argument.
    """

    def __init__(
        self,
        catalog: ToolCatalog | None = None,
        surfaces: Sequence[Surface] = DEFAULT_SURFACES,
        *,
        approval_rule: ApprovalRule | None = None,
        argument_policies: Sequence[ArgumentPolicy] = (),
        heuristics: Sequence[Heuristic] = (),
        max_auto_approvals: int = DEFAULT_MAX_AUTO_APPROVALS,
        max_requests_per_turn: int = DEFAULT_MAX_REQUESTS,
        ledger: Ledger | None = None,
        answers: AnswerMode = "strict",
        describe: Describe | None = None,
        approvers: Approvers | None = None,
        on_decision: Observer | None = None,
        record: RecordLevel = "decisions",
        record_results: bool = False,
        request_expiry: timedelta | None = None,
        preview_seconds: float = PREVIEW_SECONDS,
        clock: Callable[[], datetime] | None = None,
        new_id: Callable[[], str] | None = None,
    ) -> None:
        check_kinds(catalog=catalog, approval_rule=approval_rule, ledger=ledger)
        check_callables({"describe": describe, "approvers": approvers, "on_decision": on_decision})
        check_callables({"clock": clock, "new_id": new_id})
        check_lists({"surfaces": surfaces, "argument_policies": argument_policies, "heuristics": heuristics})
        check_caps({"max_auto_approvals": max_auto_approvals, "max_requests_per_turn": max_requests_per_turn})
        self.catalog = catalog if catalog is not None else ToolCatalog()
        self.surfaces = surfaces_by_name(surfaces)
        if answers not in ("strict", "lenient"):
            raise ConfigurationError(f"answers is {answers!r}; it must be 'strict' or 'lenient'")
        for position, policy in enumerate(argument_policies):
            if not callable(policy):
                raise ConfigurationError(f"argument_policies[{position}] is {policy!r}, which cannot be called")
        self.approval_rule = approval_rule if approval_rule is not None else ApprovalRule()
        self.ledger: Ledger = ledger if ledger is not None else InMemoryLedger()
        self.answers: AnswerMode = answers
        self.request_expiry = check_expiry(request_expiry, answers)
        self.on_decision = on_decision
        self.rulebook = Rulebook(self.catalog, self.approval_rule, tuple(argument_policies))
        self.judge = TurnJudge(
            self.rulebook,
            check_heuristics(heuristics),
            self.ledger,
            max_auto_approvals=max_auto_approvals,
            max_requests=max_requests_per_turn,
            clock=SteadyClock(clock or (lambda: datetime.now(UTC))),
            new_id=new_id or (lambda: secrets.token_hex(16)),
            describe=describe,
            approvers=approvers,
        )
        self.named = Named(self.catalog, named_tools(self.approval_rule, self.judge.heuristics))
        self.judge.preview_seconds = check_preview_seconds(preview_seconds)
        check_record(record, record_results)
        self.judge.recorder = Recorder(self.ledger, self.rulebook, record, content=record_results)

    @property
    def recorder(self) -> Recorder:
        """What is written into the record."""
        return self.judge.recorder

    # --- hosts --------------------------------------------------------------------------------

    def around(
        self, others: Sequence[AgentMiddleware[Any, Any]] = (), **options: Any
    ) -> list[AgentMiddleware[Any, Any]]:
        """Put the gate around other middleware: judge and ask outermost, enforce innermost.

        What others rewrite, retry or cache is then judged as it will run, and nothing changes a
        call after the last check. It is also the form that costs least: where none of the others
        has a hook after the model or at the agent's end, only turns that need a person take a step
        more. The list must then be the agent's whole middleware; such a hook beside it fails the
        run at its start.

        Args:
            others: The other middleware, in their order.
            **options: As for `ToolGateMiddleware`.

        Returns:
            The list for `create_agent(middleware=...)`.
        """
        with needs_extra("ToolGate.around", "agents"):
            from toolgate_langchain.hosts.langgraph.around import place_around

        return place_around(self, others, **options)

    def graph(self, tools: Sequence[BaseTool | Callable[..., Any]], **options: Any) -> GraphGate:
        """What a hand-written LangGraph graph needs: a node that asks, and what enforces around a `ToolNode`.

        Args:
            tools: The tools of the graph's tool nodes.
            **options: `surface`, `caller`, `configuration` and `zone` as for `ToolGateMiddleware`, `messages_key`
                and `state`; see `GraphGate`.

        Returns:
            The parts, to be put into one graph.
        """
        with needs_extra("ToolGate.graph", "agents"):
            from toolgate_langchain.hosts.graphs.graph import GraphGate

        return GraphGate(self, tools, **options)

    def subagent(self, **options: Any) -> ToolGateMiddleware:
        """The gate for an agent that runs inside of a tool of another agent behind this gate.

        Args:
            **options: As for `ToolGateMiddleware`. Left out, surface and zone are those of the agent
                around it, whose rights bound its own in any case.
        """
        with needs_extra("ToolGate.subagent", "agents"):
            from toolgate_langchain.hosts.inside.subagents import subagent_middleware

        return subagent_middleware(self, **options)

    def subagents(self, specs: Sequence[Mapping[str, Any]] = (), **options: Any) -> list[Any]:
        """Put a deep agent's subagents behind this gate, the automatic "general-purpose" one included.

        Args:
            specs: Specs as `create_deep_agent(subagents=...)` takes them.
            **options: As for `gate_subagents`: `model` and `tools` for specs without, and what
                `ToolGateMiddleware` takes.

        Returns:
            The list for `create_deep_agent(subagents=...)`.

        Raises:
            ConfigurationError: Naming the subagent that cannot be gated, and what to do about it.
        """
        with needs_extra("ToolGate.subagents", "agents"):
            from toolgate_langchain.hosts.inside.subagents import gate_subagents

        return gate_subagents(specs, self, **options)

    def answer(
        self,
        agent: Any,
        config: Mapping[str, Any],
        answer: ApprovalAnswer | Mapping[str, Any],
        *,
        by: str | Unsaid | None = UNSAID,
    ) -> AnswerResult:
        """Answer one pending request of an agent and let the run go on.

        Args:
            agent: The compiled agent.
            config: The config with the thread.
            answer: The answer; it must name its request.
            by: Who answers, as whoever drives the run knows; it takes the place of what the answer itself says.
                `None` is nobody, and so is what cannot be read as an identity.

        Returns:
            What became of the answer. An answer to anything that is not pending changes nothing.
        """
        from toolgate_langchain.approvals.steps import run_steps

        with needs_extra("ToolGate.answer", "agents"):
            from toolgate_langchain.hosts.langgraph.driving import answer_steps

        return run_steps(answer_steps(self, agent, config, answer, by=by, asynchronous=False))

    def aanswer(
        self,
        agent: Any,
        config: Mapping[str, Any],
        answer: ApprovalAnswer | Mapping[str, Any],
        *,
        by: str | Unsaid | None = UNSAID,
    ) -> Awaitable[AnswerResult]:
        """As `answer`, for asynchronous code."""
        from toolgate_langchain.approvals.steps import arun_steps

        with needs_extra("ToolGate.answer", "agents"):
            from toolgate_langchain.hosts.langgraph.driving import answer_steps

        return arun_steps(answer_steps(self, agent, config, answer, by=by, asynchronous=True))
