"""`GatedAgent`: the gate around any Runnable that takes messages and returns an `AIMessage`.

It runs the loop of model and tools itself and needs langchain-core only. Where a call needs a person
it returns the request and a session, which goes on in this process or another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool

from toolgate_langchain.approvals.identity import UNSAID
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.checks import check_callables, check_caps
from toolgate_langchain.hosts.engine.answering import named_by
from toolgate_langchain.hosts.engine.offering import Offering, provider_tool_name
from toolgate_langchain.hosts.gate import ToolGate
from toolgate_langchain.hosts.gated.children import check_questions_arrive, starts_agents
from toolgate_langchain.hosts.gated.entry import Entry
from toolgate_langchain.hosts.gated.loop import AgentLoop
from toolgate_langchain.hosts.gated.model import check_bound
from toolgate_langchain.hosts.gated.retrying import Retry
from toolgate_langchain.hosts.gated.runs import SessionRuns
from toolgate_langchain.hosts.gated.stepping import GatedAgentOutput, Stepping
from toolgate_langchain.hosts.gated.tools import read_tools
from toolgate_langchain.hosts.inside.agents_inside import AgentsInside, agents_held_by

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence

    from toolgate_langchain.approvals.answer import ApprovalAnswer
    from toolgate_langchain.approvals.identity import Unsaid
    from toolgate_langchain.hosts.engine.base_runs import Setting
    from toolgate_langchain.hosts.gated.session import ApprovalSession

__all__ = ["DEFAULT_MAX_TURNS", "GatedAgent"]

DEFAULT_MAX_TURNS = 25
"""Turns of the model in one run. LangGraph's own limit was 25 steps for years, and LangChain's
`AgentExecutor` stopped after 15 turns; a run that needs more says so."""


_NO_NAME = "GatedAgent"
"""The name of an agent that was given none."""


class GatedAgent(Runnable[Any, GatedAgentOutput]):
    """An agent behind the gate, with langchain-core alone.

    ::

        agent = GatedAgent(model, [read_inbox, send_email], gate)
        output = agent.invoke("Answer Ada's mail")
        while output["request"] is not None:
            output = agent.resume(output["session"], ask_somebody(output["request"]))
        print(output["messages"][-1].text)

    It takes a text, a list of messages, or a `GatedAgentInput`, and passes its config on to the model
    and the tools, whose runs are its children for every tracer. `stream` gives messages as they come.

    An answer to anything that is not pending changes nothing, and `output["answer"]` says so. A
    session that is resumed twice runs nothing twice: what was started is in the gate's ledger. After a
    crash `resume(session)` without an answer goes on with the one that is on record there.

    Args:
        model: A chat model; it is given the tools that the gate offers. Or one that was given tools
            already, a chain with such a model in it, or any other Runnable from messages to an `AIMessage`;
            what the last shows its model is up to it, and its calls are gated all the same.
        tools: The tools: `BaseTool`, functions, or dicts of tools that the provider runs.
        gate: The gate; `None` makes one with defaults.
        surface: Where the agent is driven from: a surface of the gate, its name, or a function of the
            `RunnableConfig`. Read once when a run starts, like all settings that follow.
        caller: For whom: a `Caller`, `None`, or a function of the config.
        configuration: What runs may use: a `RunConfiguration`, `None`, or a function of the config.
        zone: Where the run's models run: a `TrustZone`, one per model, `None`, or a function of the config.
        system_prompt: Stands before the conversation in every call of the model, and is not kept in it.
        max_turns: Turns of the model in one run; a resume does not start the count again.
        on_approval: `"return"` the request, or `"raise"` `ToolApprovalRequired` with it.
        keys: Keys of the sessions that come back in their JSON form; several while an old one is being
            replaced. With a key, a session that was not signed with one is refused.
        retry: How often a model, or a tool whose calls may be repeated, is tried again after an error
            that is likely to be gone in a moment. A consequential call never is.
        keep: Called with the session after every step, as a checkpointer would be; may be asynchronous
            for an asynchronous run. What a crash interrupts goes on from the session kept last.
        name: The agent's name, in traces and in its sessions.

    Raises:
        ConfigurationError: (a `ValueError`) when built, for tools or settings that cannot work here. At
            run time also for a reply that is no `AIMessage`.
        SessionError: At run time, for a session that is altered, unsigned, newer, or somebody else's.
        ToolApprovalRequired: At run time, with `on_approval="raise"`.
        TurnLimitReached: At run time, with the session so far.
    """

    def __init__(
        self,
        model: Runnable[Any, Any],
        tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] = (),
        gate: ToolGate | None = None,
        *,
        surface: Setting = "chat",
        caller: Setting = None,
        configuration: Setting = None,
        zone: Setting = None,
        system_prompt: str | SystemMessage | None = None,
        max_turns: int = DEFAULT_MAX_TURNS,
        on_approval: Literal["return", "raise"] = "return",
        keys: Sequence[bytes] = (),
        retry: Retry | None = None,
        keep: Callable[[ApprovalSession], Any] | None = None,
        name: str = _NO_NAME,
    ) -> None:
        if not isinstance(model, Runnable):
            raise ConfigurationError(f"model is {model!r}, which is not a Runnable")
        if gate is not None and not isinstance(gate, ToolGate):
            raise ConfigurationError(f"gate is {gate!r}, which is not a ToolGate")
        if on_approval not in ("return", "raise"):
            raise ConfigurationError(f"on_approval is {on_approval!r}; it must be 'return' or 'raise'")
        check_caps({"max_turns": max_turns})
        check_callables({"keep": keep})
        self.name, self.gate = name, ToolGate() if gate is None else gate
        read = read_tools(tools)
        own = self._tools = [tool for tool in read if isinstance(tool, BaseTool)]
        named = (tool.name if isinstance(tool, BaseTool) else provider_tool_name(tool) for tool in read)
        check_bound(model, frozenset(named))
        runs = SessionRuns(self.gate, surface=surface, caller=caller, configuration=configuration, zone=zone)
        runs.name = "" if name == _NO_NAME else name
        inside, with_agents = AgentsInside(self.gate), set[str]()
        for tool in own:
            held = agents_held_by(tool)
            inside.check(tool, held)
            if runs.asks_for_sure():
                check_questions_arrive(tool, held, self.gate)
            if starts_agents(held):
                with_agents.add(tool.name)
        loop = AgentLoop(
            runs,
            model=model,
            tools=read,
            with_agents=frozenset(with_agents),
            offering=Offering(runs, AgentsInside(self.gate).check),
            retry=Retry() if retry is None else retry,
            system=SystemMessage(system_prompt) if isinstance(system_prompt, str) else system_prompt,
            max_turns=max_turns,
        )
        entry = Entry(runs, name=name, tools=own, keys=keys)
        self._runs = runs
        self._stepping = Stepping(name, own, runs, entry, loop, keep=keep, raises=on_approval == "raise")

    @property
    def own_name(self) -> str:
        """The name that it was given; empty where it was given none."""
        return self._runs.name

    @property
    def tools(self) -> list[BaseTool]:
        """The agent's tools that run in this process."""
        return list(self._tools)

    @property
    def InputType(self) -> Any:  # noqa: N802  # LangChain's name
        """What it takes; see `GatedAgentInput`."""
        return str | list[Any] | dict[str, Any]

    @property
    def OutputType(self) -> Any:  # noqa: N802  # LangChain's name
        """What it returns; see `GatedAgentOutput`."""
        return dict[str, Any]

    # --- resuming -----------------------------------------------------------------------------

    def resume(
        self,
        session: ApprovalSession | Mapping[str, Any] | str,
        answer: ApprovalAnswer | Mapping[str, Any] | None = None,
        config: RunnableConfig | None = None,
        *,
        by: str | Unsaid | None = UNSAID,
    ) -> GatedAgentOutput:
        """Answer the session's request and go on.

        Args:
            session: The session, as an object or in its JSON form, which may be text.
            answer: The answer, which names its request. Without one, what is on record for the request is
                used, as after a crash; where there is nothing, the request comes back as it was.
            config: The config.
            by: Who answers, as whoever drives the agent knows; it takes the place of what the answer itself says.

        Raises:
            SessionError: If the session cannot be used.
            ToolApprovalRequired: If the agent waits again and was told to raise then.
            TurnLimitReached: If the run would need another turn than it may make.
        """
        return self.invoke(_resuming(session, named_by(answer, by)), config)

    async def aresume(
        self,
        session: ApprovalSession | Mapping[str, Any] | str,
        answer: ApprovalAnswer | Mapping[str, Any] | None = None,
        config: RunnableConfig | None = None,
        *,
        by: str | Unsaid | None = UNSAID,
    ) -> GatedAgentOutput:
        """As `resume`, for asynchronous code."""
        return await self.ainvoke(_resuming(session, named_by(answer, by)), config)

    # --- a Runnable ---------------------------------------------------------------------------

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> GatedAgentOutput:
        """Run until the agent is done or a person is needed."""
        return self._call_with_config(self._invoke, input, config)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> GatedAgentOutput:
        """As `invoke`, for asynchronous code."""
        return await self._acall_with_config(self._ainvoke, input, config)

    def stream(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> Iterator[GatedAgentOutput]:
        """As `invoke`, giving messages as they come; the last part has all but the messages."""
        yield from self._transform_stream_with_config(iter([input]), self._stream, config)

    async def astream(
        self, input: Any, config: RunnableConfig | None = None, **_: Any
    ) -> AsyncIterator[GatedAgentOutput]:
        """As `stream`, for asynchronous code."""

        async def inputs() -> AsyncIterator[Any]:
            yield input

        async for part in self._atransform_stream_with_config(inputs(), self._astream, config):
            yield part

    def _invoke(self, given: Any, run_manager: Any, config: RunnableConfig) -> GatedAgentOutput:
        *_, last = self._stepping.parts(given, config)
        return {**last, "messages": list(last["session"].messages)}

    async def _ainvoke(self, given: Any, run_manager: Any, config: RunnableConfig) -> GatedAgentOutput:
        parts = [part async for part in self._stepping.aparts(given, config)]
        return {**parts[-1], "messages": list(parts[-1]["session"].messages)}

    def _stream(self, inputs: Iterator[Any], run_manager: Any, config: RunnableConfig) -> Iterator[GatedAgentOutput]:
        for given in inputs:
            yield from self._stepping.parts(given, config)

    async def _astream(
        self, inputs: AsyncIterator[Any], run_manager: Any, config: RunnableConfig
    ) -> AsyncIterator[GatedAgentOutput]:
        async for given in inputs:
            async for part in self._stepping.aparts(given, config):
                yield part


def _resuming(session: Any, answer: Any) -> dict[str, Any]:
    return {"session": session} if answer is None else {"session": session, "answer": answer}
