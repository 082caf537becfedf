"""Subagents behind their parent's gate: the middleware of one, and the gated specs of a deep agent's.

deepagents gives a subagent none of its parent's middleware, and adds one by itself that has the
parent's tools ("general-purpose"), unless a spec of that name is given. So every spec is gated, and that
one is always given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.errors import ConfigurationError, needs_extra
from toolgate_langchain.hosts.engine.parent_run import current_run
from toolgate_langchain.hosts.inside.inner_agents import compiled_graph, ungated
from toolgate_langchain.hosts.langgraph.behind import was_read
from toolgate_langchain.hosts.langgraph.middleware import ToolGateMiddleware

if TYPE_CHECKING:
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.vocabulary import TrustZone

__all__ = ["gate_subagents", "subagent_middleware"]

_GATE_IT: Final = "create_agent(..., middleware=[gate.subagent()])"


def subagent_middleware(gate: ToolGate, **options: Any) -> ToolGateMiddleware:
    """The gate for an agent that runs inside of another agent's tool.

    Args:
        gate: The parent's gate.
        **options: As for `ToolGateMiddleware`. Left out, surface and zone are the parent's. The stricter
            of the parent's and these holds in any case.
    """
    return ToolGateMiddleware(gate, **{"surface": _parents_surface, "zone": _parents_zone, **options})


def gate_subagents(
    specs: Sequence[Mapping[str, Any]],
    gate: ToolGate,
    *,
    model: Any = None,
    tools: Sequence[Any] | None = None,
    **options: Any,
) -> list[Any]:
    """The specs of a deep agent's subagents, each behind the gate, "general-purpose" among them.

    Args:
        specs: Specs as `create_deep_agent(subagents=...)` takes them: declared ones, and compiled ones that
            have this gate already.
        gate: The parent's gate.
        model: For specs without one; `create_deep_agent` gives them the parent's.
        tools: For specs without any; `create_deep_agent` gives them the parent's.
        **options: For the gate of each declared one, as for `ToolGateMiddleware`. A spec that names a
            model of its own counts as one whose zone is not declared, unless `zone` is given here.

    Raises:
        ConfigurationError: Naming the subagent that cannot be gated, and what to do about it: a remote
            one, a compiled one without this gate, one with an `interrupt_on` of its own, whose middleware would
            stand between the gate and the tools, one with skills of a middleware that nobody has read, a shape
            that is not known.
        MissingExtraError: If deepagents is not installed.
    """
    with needs_extra("gate_subagents", "deepagents"):
        from deepagents.middleware.subagents import GENERAL_PURPOSE_SUBAGENT
    if isinstance(specs, str | Mapping) or not isinstance(specs, Sequence):
        raise ConfigurationError(f"subagents is {specs!r}; it must be a list of specs")
    filled: dict[str, Any] = {} if model is None else {"model": model}
    filled |= {} if tools is None else {"tools": tools}
    gated = [_gated(spec, gate, filled, options) for spec in specs]
    general = GENERAL_PURPOSE_SUBAGENT["name"]
    if all(spec["name"] != general for spec in gated):
        gated.append(_declared({**GENERAL_PURPOSE_SUBAGENT}, gate, filled, options))
    return gated


def _gated(spec: Any, gate: ToolGate, filled: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """One spec behind the gate, by its shape. Each key must be known, so that no new kind slips through."""
    from deepagents.middleware.async_subagents import AsyncSubAgent
    from deepagents.middleware.subagents import CompiledSubAgent, SubAgent

    if not isinstance(spec, Mapping) or not all(isinstance(spec.get(key), str) for key in ("name", "description")):
        raise ConfigurationError(f"subagent {spec!r} is no spec: a dict with name and description")
    name, keys = spec["name"], set(spec)
    if "graph_id" in keys or (keys - set(SubAgent.__annotations__) & set(AsyncSubAgent.__annotations__)):
        raise ConfigurationError(
            f"subagent {name!r} runs on a server, out of this gate's reach: its calls cannot be judged here. Leave it "
            "out, or run the agent in this process as a declared subagent"
        )
    if "runnable" in keys:
        _check_known(name, keys, CompiledSubAgent)
        return _compiled(spec, gate)
    _check_known(name, keys, SubAgent)
    return _declared(spec, gate, filled, options)


def _check_known(name: str, keys: set[str], kind: Any) -> None:
    if unknown := sorted(keys - set(kind.__annotations__)):
        raise ConfigurationError(
            f"subagent {name!r} has {', '.join(map(repr, unknown))}, which a {kind.__name__} does not have; known: "
            f"{', '.join(kind.__annotations__)}"
        )


def _declared(
    spec: Mapping[str, Any], gate: ToolGate, filled: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """A declared spec with the gate as the last of its middleware."""
    name, middleware = spec["name"], list(spec.get("middleware") or ())
    _check_skills(name, bool(spec.get("skills")), middleware)
    rules = spec.get("permissions") or ()
    if spec.get("interrupt_on") or any(getattr(rule, "mode", None) == "interrupt" for rule in rules):
        raise ConfigurationError(
            f"subagent {name!r} has interrupt_on, or permissions that interrupt, whose middleware asks between the "
            "gate and the tools; leave them out, the gate asks (ToolGateMiddleware.from_interrupt_on makes one of them)"
        )
    given = [one for one in middleware if isinstance(one, ToolGateMiddleware)]
    if any(one.gate is not gate for one in given):
        raise ConfigurationError(f"subagent {name!r} is behind another gate than its parent; leave that one out")
    if given and (given != middleware[-1:] or given[0].leaves_the_loop):
        raise ConfigurationError(
            f"subagent {name!r} has the gate in a place or form that deepagents does not keep; leave it out, it is "
            "put last here, or give ToolGateMiddleware(gate, ...) as the last one"
        )
    if not given:
        own_model = {} if "model" not in spec else {"zone": None}
        middleware.append(subagent_middleware(gate, **{**own_model, **options}))
    return {**filled, **spec, "middleware": middleware}


def _check_skills(name: str, given: bool, middleware: Sequence[Any]) -> None:
    """Refuse skills whose middleware, which deepagents puts between the gate and the tools, nobody has read.

    Raises:
        ConfigurationError: Naming the subagent and what to do.
    """
    from deepagents.middleware.skills import SkillsMiddleware

    kinds = [type(one) for one in middleware if isinstance(one, SkillsMiddleware) or one.name == "SkillsMiddleware"]
    if unread := [kind for kind in (*kinds, *([SkillsMiddleware] if given else [])) if not was_read(kind)]:
        raise ConfigurationError(
            f"subagent {name!r} has skills, whose middleware ({unread[0].__name__}) deepagents puts between the gate "
            "and the tools, and this one is not known to pass every call on as it came; build the subagent yourself "
            f"with {_GATE_IT}, the skills before the gate, and give it as a compiled one"
        )


def _compiled(spec: Mapping[str, Any], gate: ToolGate) -> dict[str, Any]:
    """A compiled spec, as it is, where the gate is in it."""
    name, graph = spec["name"], compiled_graph(spec["runnable"])
    if graph is None:
        raise ConfigurationError(
            f"subagent {name!r} is a {type(spec['runnable']).__name__}, in which no gate can be found; build it with "
            f"{_GATE_IT}"
        )
    without = ungated(graph, gate)
    if not without and not _starts_behind(graph, gate):
        without = [graph.name or name]
    if without:
        raise ConfigurationError(
            f"subagent {name!r} is compiled without this gate (in {', '.join(map(repr, without))}); build it with "
            f"{_GATE_IT}, or declare it with its model and tools in place of a runnable"
        )
    if graph.checkpointer is False:
        raise ConfigurationError(
            f"subagent {name!r} is compiled with checkpointer=False and cannot wait for a person; leave it out"
        )
    return dict(spec)


def _starts_behind(graph: Any, gate: ToolGate) -> bool:
    """Whether runs of the graph itself start with the gate."""
    from toolgate_langchain.hosts.inside.observing import gates_of

    return any(one is gate for one in gates_of(graph))


def _parents_surface(_runtime: Any) -> str:
    """The surface of the run around this one.

    Raises:
        ConfigurationError: Where there is none.
    """
    parent = current_run.get()
    if parent is None:
        raise ConfigurationError(
            "a subagent's gate takes its surface from the agent around it, and there is none: start it from a tool of "
            "that agent, or name a surface: gate.subagent(surface=...)"
        )
    return parent.run.context.surfaces[0].name


def _parents_zone(_runtime: Any) -> TrustZone | None:
    """The zone of the run around this one."""
    parent = current_run.get()
    return None if parent is None else parent.run.context.zone
