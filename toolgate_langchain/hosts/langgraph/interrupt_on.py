"""LangChain's own configuration of approvals, read into a gate.

`HumanInTheLoopMiddleware(interrupt_on={...})` says per tool whether it is asked about, which answers
a person may give, when, and with which words. Here that becomes what the gate has for it: tools that
its approval rule asks about, a heuristic that auto-approves what the configuration exempts, and a
description that is shown beside the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, get_args

from langchain.agents.middleware.types import ToolCallRequest
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolRuntime
from langgraph.runtime import get_runtime

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.gate import ToolGate
from toolgate_langchain.policy.approval_rule import AnswerType, ApprovalRule

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall

    from toolgate_langchain.approvals.heuristics import HeuristicContext
    from toolgate_langchain.catalog.entry import CatalogEntry

__all__ = ["gate_for"]

_ANSWERS: Final = get_args(AnswerType)

_WHERE: Final = ("surface", "caller", "configuration", "zone")
"""What says where and for whom an agent runs; everything else is the gate's."""

_KEYS: Final = ("allowed_decisions", "description", "args_schema", "when")


def gate_for(interrupt_on: Any, options: Mapping[str, Any]) -> tuple[ToolGate, dict[str, Any]]:
    """The gate that a configuration means, and what is left of the options for the middleware.

    Args:
        interrupt_on: As for `HumanInTheLoopMiddleware`.
        options: Those of `ToolGate` and of `ToolGateMiddleware`, except `gate`.

    Raises:
        ConfigurationError: Naming the tool, what was given and what is allowed.
    """
    configured = _checked(interrupt_on)
    where = {name: options[name] for name in _WHERE if name in options}
    given = {name: value for name, value in options.items() if name not in _WHERE}
    if "gate" in given or "describe" in given:
        raise ConfigurationError(
            "from_interrupt_on makes the gate and its descriptions itself; pass what else the gate needs, "
            "as in from_interrupt_on({...}, ledger=...)"
        )
    rule = given.pop("approval_rule", None) or ApprovalRule()
    heuristics = given.pop("heuristics", ())
    asks = {name: tuple(one["allowed_decisions"]) for name, one in configured.items() if one is not None}
    gate = ToolGate(
        approval_rule=ApprovalRule(rule.undeclared_remote, {**rule.asks, **asks}),
        heuristics=[_auto_approval(configured), *heuristics],
        describe=_description(configured),
        **given,
    )
    gate.named.rename("interrupt_on", configured)
    return gate, where


def _checked(interrupt_on: Any) -> dict[str, Mapping[str, Any] | None]:
    """The configuration with `True` written out, and `None` for tools that it exempts."""
    if not isinstance(interrupt_on, Mapping):
        raise ConfigurationError(f"interrupt_on is {interrupt_on!r}; it must be a mapping of tools")
    configured: dict[str, Mapping[str, Any] | None] = {}
    for name, given in interrupt_on.items():
        if not isinstance(name, str) or not name:
            raise ConfigurationError(f"interrupt_on names {name!r}, which is not the name of a tool")
        if isinstance(given, bool):
            configured[name] = {"allowed_decisions": list(_ANSWERS)} if given else None
        else:
            configured[name] = _checked_tool(name, given)
    return configured


def _checked_tool(name: str, given: Any) -> Mapping[str, Any]:
    of = f"interrupt_on[{name!r}]"
    if not isinstance(given, Mapping):
        raise ConfigurationError(f"{of} is {given!r}; it must be True, False or an InterruptOnConfig")
    if unknown := [key for key in given if key not in _KEYS]:
        raise ConfigurationError(f"{of} has {unknown[0]!r}; allowed: {', '.join(map(repr, _KEYS))}")
    decisions = given.get("allowed_decisions")
    if not isinstance(decisions, list | tuple) or not decisions or any(one not in _ANSWERS for one in decisions):
        raise ConfigurationError(
            f"{of}['allowed_decisions'] is {decisions!r}; it must be a list of some of {', '.join(map(repr, _ANSWERS))}"
        )
    description, when = given.get("description"), given.get("when")
    if description is not None and not isinstance(description, str) and not callable(description):
        raise ConfigurationError(f"{of}['description'] is {description!r}; it must be a text or a function")
    if when is not None and not callable(when):
        raise ConfigurationError(f"{of}['when'] is {when!r}, which cannot be called")
    return dict(given)


def _auto_approval(configured: Mapping[str, Mapping[str, Any] | None]) -> Any:
    """The heuristic that stands for `False` and for a `when` that says `False`."""

    def interrupt_on(call: ToolCall, context: HeuristicContext) -> bool:
        if call["name"] not in configured:
            return False
        config = configured[call["name"]]
        if config is None:
            return not _asks_by_itself(context.entry)
        when = config.get("when")
        return when is not None and when(_request(call, context)) is False

    return interrupt_on


def _asks_by_itself(entry: CatalogEntry) -> bool:
    """Whether the tool's own profile, or its server's record, asks for a person. No `False` here takes that back."""
    profile = entry.profile
    return profile.requires_approval or profile.approval_when is not None or entry.declared is True


def _description(configured: Mapping[str, Mapping[str, Any] | None]) -> Any:
    def describe(call: ToolCall, context: HeuristicContext) -> str | None:
        config = configured.get(call["name"])
        said = None if config is None else config.get("description")
        text: str | None = said(call, dict(context.state), get_runtime()) if callable(said) else said
        return text

    return describe


def _request(call: ToolCall, context: HeuristicContext) -> ToolCallRequest:
    """The call as a `when` gets it."""
    runtime, state = get_runtime(), dict(context.state)
    return ToolCallRequest(
        tool_call=call,
        tool=context.entry.tool,
        state=state,
        runtime=ToolRuntime(
            state=state,
            context=runtime.context,
            config=get_config(),
            stream_writer=runtime.stream_writer,
            tool_call_id=call["id"],
            store=runtime.store,
            execution_info=runtime.execution_info,
            server_info=runtime.server_info,
        ),
    )
