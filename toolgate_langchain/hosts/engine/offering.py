"""What is offered to the model: only what the gate offers, and on an unattended surface only what never pauses."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.catalog.fitting import misnamed_argument
from toolgate_langchain.catalog.profile import ToolProfile
from toolgate_langchain.errors import ConfigurationError, ToolGateWarning
from toolgate_langchain.hosts.engine.further_models import FurtherModels
from toolgate_langchain.hosts.engine.running_here import would_wait
from toolgate_langchain.policy.gates import decide_offer

if TYPE_CHECKING:
    from langchain.agents.middleware.types import ModelRequest
    from langchain_core.tools import BaseTool

    from toolgate_langchain.approvals.turn import Run
    from toolgate_langchain.hosts.engine.base_runs import Runs
    from toolgate_langchain.policy.context import RunContext

__all__ = ["Offering", "provider_tool_name", "still_possible"]

_UNCLASSIFIED: Final = ToolProfile()


class _Worked(NamedTuple):
    """What was worked out for some tools, while the catalog is at one version."""

    version: int
    tools: list[Any]
    offered: list[Any]
    everything: bool
    """Whether what is offered is all there is, as it is."""


class Offering:
    """Filters the tools of model requests. What it worked out once it reuses while nothing changes.

    Args:
        runs: The agent's runs.
        look: Looks at each tool that the agent has, before a model is called; what it raises ends the run.
    """

    def __init__(self, runs: Runs, look: Callable[[BaseTool], None] | None = None) -> None:
        self._runs, self._look, self._catalog = runs, look, runs.gate.catalog
        self.further_models = FurtherModels(runs)
        self._known: dict[RunContext, _Worked] = {}
        self._latest: tuple[RunContext, _Worked] | None = None
        self._warned: set[str] = set()
        self._bare_model: Any = None
        """The last model that was seen to bring no tools along."""

    def offer(self, request: ModelRequest[Any], run: Run) -> ModelRequest[Any]:
        """Leave only those tools in a model request that the gate offers.

        Args:
            request: The request.
            run: The run that it is made in.
        """
        if request.model_settings or request.model is not self._bare_model:
            self.further_models.check(request.model, request.runtime)
            self.check_bound(request.model, request.model_settings)
        tools = request.tools
        if not tools:
            return request
        worked = self._worked(tools, run.context)
        if worked.everything:
            return request
        offered = worked.offered
        return request.override(tools=offered, tool_choice=still_possible(request.tool_choice, offered))

    def offered(self, tools: Sequence[BaseTool | dict[str, Any]], context: RunContext) -> list[Any]:
        """Those of the tools that the gate offers in a run, which must not be changed by who gets them."""
        return self._worked(tools, context).offered

    def _worked(self, tools: Sequence[BaseTool | dict[str, Any]], context: RunContext) -> _Worked:
        version, latest = self._catalog.version, self._latest
        known = latest[1] if latest is not None and latest[0] is context else self._known.get(context)
        if (
            known is not None
            and known[0] == version
            and len(known[1]) == len(tools)
            and all(map(operator.is_, known[1], tools))
        ):
            if latest is None or latest[1] is not known:
                self._latest = (context, known)
            return known
        if len(self._known) > 64:
            self._known.clear()
        offered = self._offerable(tools, context)
        everything = len(offered) == len(tools) and all(map(operator.is_, offered, tools))
        known = self._known[context] = _Worked(version, list(tools), offered, everything)
        self._latest = (context, known)
        return known

    def check_bound(self, model: Any, settings: Mapping[str, Any] | None = None) -> None:
        """Refuse tools that a model brings along: nobody could filter them, or see their calls.

        Raises:
            ConfigurationError: Naming them.
        """
        tools = list((settings or {}).get("tools") or ())
        if model is not self._bare_model:
            tools += _bound_tools(model)
        if tools:
            names = ", ".join(repr(provider_tool_name(one) if isinstance(one, Mapping) else one) for one in tools)
            raise ConfigurationError(
                f"the model was given tools before the gate could see them ({names}); give them to "
                "create_agent(tools=[...]) instead of binding them to the model"
            )
        self._bare_model = model

    def _offerable(self, tools: Sequence[BaseTool | dict[str, Any]], context: RunContext) -> list[Any]:
        check_names(tools)
        offered: list[tuple[str, Any]] = []
        for tool in tools:
            if isinstance(tool, dict):
                name = provider_tool_name(tool)
                if self._provider_tool_offered(name, context):
                    offered.append((name, tool))
                continue
            if self._look is not None:
                self._look(tool)
            entry = self._runs.meet(tool)
            if entry.first_sight and entry.server is None and (misnamed := misnamed_argument(entry)) is not None:
                raise ConfigurationError(misnamed)
            if self._tool_offered(entry, context) and self._never_waits(tool, context):
                offered.append((tool.name, tool))
        self._runs.gate.named.look(self._runs, map(_name_of, tools))
        requested = next((one.tools for one in context.configurations if one.tools is not None), None)
        if requested is None:
            return [tool for _, tool in offered]
        by_name = dict(offered)
        return [by_name[name] for name in dict.fromkeys(requested) if name in by_name]

    def _tool_offered(self, entry: CatalogEntry, context: RunContext) -> bool:
        if not decide_offer(entry, context, self._runs.gate.catalog).allowed:
            return False
        if context.surface.attended:
            return True
        return not self._runs.gate.approval_rule.need(entry, context.surface).needed

    def _never_waits(self, tool: BaseTool, context: RunContext) -> bool:
        """Whether no call of a tool could wait for somebody where nobody is there."""
        why = would_wait(tool, context.surface)
        if why and tool.name not in self._warned:
            self._warned.add(tool.name)
            warnings.warn(f"the tool {tool.name!r} is not offered: {why}", ToolGateWarning, stacklevel=2)
        return not why

    def _provider_tool_offered(self, name: str, context: RunContext) -> bool:
        """A tool that the provider runs is never seen as a call, so it is gated where it is offered."""
        entry = self._runs.gate.catalog.get(name) or CatalogEntry(name, _UNCLASSIFIED, first_sight=True)
        if entry.tool is not None:
            # What is registered of a tool that runs here was said of its code: only its restrictions are kept.
            entry = CatalogEntry(name, entry.profile.without_tier())
        offer = decide_offer(entry, context, self._runs.gate.catalog)
        need = self._runs.gate.approval_rule.need(entry, context.surface)
        if offer.allowed and not need.needed:
            return True
        why = need.reason if offer.allowed else offer.reason
        if name not in self._warned:
            self._warned.add(name)
            warnings.warn(
                f"the provider-side tool {name!r} is not offered: {why}. Nobody can be asked about a call that the "
                f"provider makes; to offer it, register_provider_tool({name!r}, ToolProfile(tier=...)) with a tier "
                "that its surface allows",
                ToolGateWarning,
                stacklevel=2,
            )
        return False


def check_names(tools: Sequence[BaseTool | dict[str, Any]]) -> None:
    """Refuse two tools of one name: a model that names it could mean either, and a tool node runs only one.

    Raises:
        ConfigurationError: Naming it.
    """
    named: dict[str, Any] = {}
    for tool in tools:
        name = _name_of(tool)
        if named.setdefault(name, tool) is not tool:
            raise ConfigurationError(f"two tools of the agent are named {name!r}; rename one")


def _name_of(tool: Any) -> str:
    return provider_tool_name(tool) if isinstance(tool, Mapping) else str(tool.name)


def _bound_tools(model: Any) -> list[Any]:
    """The tools in a model's own settings and in those of every binding around it."""
    tools: list[Any] = []
    while model is not None:
        for settings in (getattr(model, "kwargs", None), getattr(model, "model_kwargs", None)):
            if isinstance(settings, Mapping):
                tools += settings.get("tools") or ()
        model = getattr(model, "bound", None)
    return tools


def provider_tool_name(tool: Mapping[str, Any]) -> str:
    """The name of a tool given as a dict: its own, its function's, or else its type."""
    function = tool.get("function")
    named = tool.get("name") or (function.get("name") if isinstance(function, Mapping) else None) or tool.get("type")
    return str(named or "")


def still_possible(choice: Any, offered: Sequence[Any]) -> Any:
    """A forced tool choice, unless it names a tool that is no longer offered."""
    named = choice
    if isinstance(choice, Mapping):
        function = choice.get("function")
        named = choice.get("name") or (function.get("name") if isinstance(function, Mapping) else None)
    if not isinstance(named, str) or named in ("auto", "any", "none", "required"):
        return choice if offered else None
    names = set(map(_name_of, offered))
    return choice if named in names else None
