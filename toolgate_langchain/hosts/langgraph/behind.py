"""What stands behind the gate around an agent's tool calls: nothing, or what is known to pass a call on as it is.

Middleware behind the gate could change a call after its last check, so it is refused before the model is
called. deepagents puts some there by itself; those of its wrappers that were read are recognised by
their code, so that another version of one is refused again.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from functools import lru_cache
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from langgraph.prebuilt import ToolNode

from toolgate_langchain.canonical import digest
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.langgraph.internals import is_tool_nodes_own, parts_of, running_nodes, tool_wrappers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

__all__ = ["Behind", "check_innermost", "code_of", "was_read"]

_READ: Final = {
    # Both give the call to what is behind them as it came, or, for a tool that the agent does not have or that its
    # model may not use, do not run it at all. (The gate lets no call of a tool through that the agent does not have.)
    ("deepagents.middleware.skills", "SkillsMiddleware"): "ffd0a21d7541ded8",
    ("deepagents.middleware._tool_exclusion", "_ToolExclusionMiddleware"): "a8013e619489ce57",
}
"""Wrappers that were read in deepagents 0.7.32, by the digest of their code without comments and docstrings."""

_WRAPPERS: Final = ("wrap_tool_call", "awrap_tool_call")
_CALLED: Final = {
    "SkillsMiddleware": ("_disclosed_record",),
    "_ToolExclusionMiddleware": ("_ToolExclusionMiddleware._rejection",),
}
"""What else of their modules decides there whether a call is passed on as it came."""

_FACTORY: Final = "langchain.agents.factory"
_COMPOSED: Final = ".compose_two.<locals>.composed"
"""How LangChain puts one wrapper around another: a function that is closed over `outer` and `inner`."""

_INTERRUPTS: Final = ("HumanInTheLoopMiddleware",)


class Behind:
    """Looks once at each agent that the gate is in for what stands between the gate and the tools.

    Args:
        is_gate: Whether an object is the gate of that agent.
        meet: Is told the names of the agent's tools, also of those that other middleware will not offer.
    """

    def __init__(
        self, is_gate: Callable[[object], bool], meet: Callable[[Iterable[str]], None] = lambda names: None
    ) -> None:
        self._is_gate, self._meet = is_gate, meet
        self._nodes: Mapping[str, Any] | None = None

    def check(self) -> None:
        """Refuse to start a run of an agent in which something unknown stands there.

        Raises:
            ConfigurationError: Naming the middleware, and what to do.
        """
        nodes = running_nodes()
        if nodes is self._nodes:
            return
        for node in nodes.values():
            for part in parts_of(getattr(node, "bound", None)):
                if isinstance(part, ToolNode):
                    self._meet(part.tools_by_name)
                    for wrapper in tool_wrappers(part):
                        _check(_in_order(wrapper), self._is_gate)
        self._nodes = nodes


def check_innermost(handler: object) -> None:
    """Refuse to release a call through other middleware, which could change it after the check.

    Args:
        handler: What would run the call.

    Raises:
        ConfigurationError: If the handler is not the tool node's own, or one that is known to lead there.
    """
    if is_tool_nodes_own(handler):
        return
    inside = _closed_over(handler)
    if not is_tool_nodes_own(inside.get("execute")):
        raise _refusal([handler])
    if unknown := [one for one in _in_order(inside.get("inner")) if not _passes_on(one)]:
        raise _refusal(unknown)


def _check(wrappers: Sequence[Any], is_gate: Callable[[object], bool]) -> None:
    last = next((place for place in reversed(range(len(wrappers))) if _is_of(wrappers[place], is_gate)), None)
    if last is None:
        return
    if unknown := [one for one in wrappers[last + 1 :] if not _passes_on(one)]:
        raise _refusal(unknown)


def _refusal(unknown: Sequence[object]) -> ConfigurationError:
    names = [_name(one) for one in unknown]
    said = (
        f"another middleware with wrap_tool_call stands behind the gate ({', '.join(names)}) and could change a call "
        "after its last check; "
    )
    if any(name in _INTERRUPTS for name in names):
        return ConfigurationError(
            f"{said}leave out interrupt_on=... and permissions that interrupt, the gate asks: "
            "ToolGateMiddleware.from_interrupt_on({...}) takes the same configuration"
        )
    return ConfigurationError(
        f"{said}put ToolGateMiddleware last in create_agent(middleware=[...]), or use "
        "middleware=gate.around([...the others...])"
    )


def _in_order(wrapper: Any) -> list[Any]:
    """The wrappers of a chain, the outermost first."""
    if wrapper is None:
        return []
    if getattr(wrapper, "__module__", "") != _FACTORY or not getattr(wrapper, "__qualname__", "").endswith(_COMPOSED):
        return [wrapper]
    inside = _closed_over(wrapper)
    return [*_in_order(inside.get("outer")), *_in_order(inside.get("inner"))]


def _closed_over(function: object) -> dict[str, Any]:
    """What a function is closed over, by name."""
    if not isinstance(function, FunctionType):
        return {}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: cell.cell_contents for name, cell in cells}


def _is_of(wrapper: object, is_gate: Callable[[object], bool]) -> bool:
    wrapper = _unwrapped(wrapper)
    # The gate's own is a function with an explicit signature, and its method is a default of it.
    methods = wrapper.__defaults__ or () if isinstance(wrapper, FunctionType) else (wrapper,)
    return any(isinstance(one, MethodType) and is_gate(one.__self__) for one in methods)


def _unwrapped(wrapper: object) -> object:
    """A middleware's own function, below what LangChain puts around it for tracing."""
    while isinstance(wrapper, FunctionType) and hasattr(wrapper, "__wrapped__"):
        wrapper = wrapper.__wrapped__
    return wrapper


def _method(wrapper: object) -> MethodType | None:
    wrapper = _unwrapped(wrapper)
    return wrapper if isinstance(wrapper, MethodType) else None


def _name(wrapper: object) -> str:
    method = _method(wrapper)
    return str(getattr(wrapper, "__qualname__", wrapper)) if method is None else type(method.__self__).__name__


def _passes_on(wrapper: object) -> bool:
    """Whether a wrapper is one that was read, down to its code."""
    method = _method(wrapper)
    if method is None or method.__func__.__name__ not in _WRAPPERS:
        return False
    kind: Any = type(method.__self__)
    return kind.__dict__.get(method.__func__.__name__) is method.__func__ and was_read(kind)


def was_read(kind: type) -> bool:
    """Whether a middleware is known, down to its code, to pass every call on as it came.

    Args:
        kind: Its class; a subclass of a known one is not known.
    """
    known = _READ.get((kind.__module__, kind.__name__))
    return known is not None and code_of(kind) == known


@lru_cache(maxsize=64)
def code_of(kind: type) -> str:
    """The digest of what a middleware does around a tool call; empty where its source cannot be read."""
    module = inspect.getmodule(kind)
    functions: list[Any] = [getattr(kind, name) for name in _WRAPPERS]
    for path in _CALLED.get(kind.__name__, ()):
        found: Any = module
        for name in path.split("."):
            found = getattr(found, name, None)
        functions.append(found)
    try:
        return digest("toolgate:wrapper:1", *map(_bare_code, functions))[:16]
    except (OSError, TypeError, SyntaxError):
        return ""


def _bare_code(function: Any) -> str:
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if not isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        raise TypeError(f"{function!r} is written as a part of another statement")
    if ast.get_docstring(tree) is not None:
        tree.body = tree.body[1:]
    return ast.unparse(tree)
