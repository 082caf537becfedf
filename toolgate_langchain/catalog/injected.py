"""Which parameters of a tool code fills in, so that a model must not."""

from __future__ import annotations

import inspect
from types import FunctionType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, Union, get_args, get_origin, get_type_hints
from weakref import WeakKeyDictionary

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId
from pydantic import AliasChoices, AliasPath, BaseModel

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["injected_names", "names_for_langgraph"]


def injected_names(tool: BaseTool) -> frozenset[str]:
    """Names of the parameters that code fills in and the model must not."""
    names: set[str] = set()
    schema = tool.args_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        offered = tool.tool_call_schema
        if isinstance(offered, type) and issubclass(offered, BaseModel):
            names |= set(schema.model_fields) - set(offered.model_fields)
    function = getattr(tool, "func", None) or getattr(tool, "coroutine", None) or tool._run
    resolved = _hints(function)
    # Of unresolvable annotations the signature still tells the names.
    hints = dict(inspect.getfullargspec(function).annotations) if resolved is None else resolved
    names |= {name for name, hint in hints.items() if name != "return" and _is_injected(hint)}
    # A parameter of this name is filled in by LangGraph's tool node whatever its type.
    if "runtime" in hints or "runtime" in getattr(schema, "model_fields", {}):
        names.add("runtime")
    names |= _overwritten(tool, function, resolved)
    return frozenset(names | _aliases(schema, names))


def names_for_langgraph(tool: BaseTool) -> frozenset[str]:
    """Names of the parameters that nothing but LangGraph fills in: its state, its store, its runtime."""
    hints: dict[str, Any] = {}
    for source in (getattr(tool, "func", None), getattr(tool, "coroutine", None), tool._run, tool.args_schema):
        if source is not None and not isinstance(source, dict):
            hints.update(_readable_hints(source))
    names = {name for name, hint in hints.items() if name != "return" and _is_for_langgraph(hint)}
    return frozenset(names | ({"runtime"} & set(hints)))


def _readable_hints(source: Any) -> dict[str, Any]:
    """The annotations of a function or a class; where they cannot be resolved, those that can be read."""
    run = getattr(source, "__func__", None)
    shared = run if isinstance(run, FunctionType) and run.__name__ == "_run" else None
    if shared is not None and (known := _hints_of_run.get(shared)) is not None:
        return known
    try:
        hints = get_type_hints(source, include_extras=True)
    except Exception:
        hints = getattr(source, "__annotations__", {})
        shared = None
    if shared is not None:
        _hints_of_run[shared] = hints
    return hints


_hints_of_run: Final[WeakKeyDictionary[FunctionType, dict[str, Any]]] = WeakKeyDictionary()
"""What the `_run` of a class of tools is annotated with: most tools share one, and it takes long to resolve."""


def _is_for_langgraph(hint: Any) -> bool:
    kind = hint if isinstance(hint, type) else get_origin(hint)
    mark = hint if isinstance(hint, InjectedToolArg) else kind
    if isinstance(mark, InjectedToolArg):
        mark = type(mark)
    if isinstance(mark, type) and _is_mark(mark):
        # LangChain itself fills in the call's id; a bare mark keeps a parameter from the model, no more.
        return mark is not InjectedToolArg and not issubclass(mark, InjectedToolCallId)
    return get_origin(hint) in _TRANSPARENT and any(_is_for_langgraph(part) for part in get_args(hint))


def _overwritten(tool: BaseTool, read: Callable[..., Any], hints: dict[str, Any] | None) -> set[str]:
    """Parameters that LangChain sets itself: a model's value would be shown, and would not be what runs.

    Args:
        tool: The tool.
        read: The one of its functions that was read already.
        hints: Its hints.
    """
    names = {"self"}
    for function in (getattr(tool, "func", None), getattr(tool, "coroutine", None)):
        if function is not None:
            names |= _set_by_langchain(function, hints if function is read else _hints(function))
    run = getattr(tool._run, "__func__", None)
    if not isinstance(run, FunctionType):
        return names | _set_by_langchain(tool._run, _hints(tool._run))
    found = _set_in_run.get(run)
    if found is None:
        found = _set_in_run[run] = _set_by_langchain(run, _hints(run))
    return names | found


_set_in_run: Final[WeakKeyDictionary[FunctionType, frozenset[str]]] = WeakKeyDictionary()
"""What LangChain sets in the `_run` of a class of tools: most tools share one, and it takes long to read."""


def _set_by_langchain(function: Callable[..., Any], hints: dict[str, Any] | None) -> frozenset[str]:
    """The parameters of one function that LangChain sets itself."""
    parameters = inspect.signature(function).parameters
    names = {name for name in ("run_manager", "callbacks") if name in parameters}
    if hints is None:  # the usual name is the best guess
        hints = {"config": RunnableConfig} if "config" in parameters else {}
    return frozenset(names | {name for name, hint in hints.items() if _bare(hint) is RunnableConfig})


def _hints(function: Callable[..., Any]) -> dict[str, Any] | None:
    """A function's annotations with all that they are marked with; `None` where they cannot be resolved."""
    try:
        return get_type_hints(function, include_extras=True)
    except Exception:
        return None


def _bare(hint: Any) -> Any:
    """A hint without its marks."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _aliases(schema: Any, names: set[str]) -> set[str]:
    """The other keys under which a schema would take these fields."""
    found: set[str] = set()
    for name in names & set(getattr(schema, "model_fields", {})):
        alias = schema.model_fields[name].validation_alias
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        found |= {str(choice.path[0]) if isinstance(choice, AliasPath) else choice for choice in choices if choice}
    return found


_TRANSPARENT: Final = (Annotated, Union, UnionType)


def _is_injected(hint: Any) -> bool:
    """Whether a hint marks an injected parameter, at the top or inside a union, as LangGraph reads it."""
    kind = hint if isinstance(hint, type) else get_origin(hint)
    if isinstance(hint, InjectedToolArg) or (isinstance(kind, type) and _is_mark(kind)):
        return True
    return get_origin(hint) in _TRANSPARENT and any(_is_injected(part) for part in get_args(hint))


def _is_mark(kind: type) -> bool:
    # ToolRuntime and its kin are injected by their type alone; their base class is private.
    return any(base is InjectedToolArg or base.__name__ == "_DirectlyInjectedToolArg" for base in kind.__mro__)
