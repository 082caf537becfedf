"""What a function or a tool can reach by its own means: what it is closed over, built with, or names.

A tool that holds an agent will start it, and an agent in it without the gate runs whatever its model
calls. What is built inside of a function when it runs cannot be seen before.
"""

from __future__ import annotations

import dis
import sysconfig
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, cast

from langchain_core.language_models import BaseLanguageModel
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from pydantic import BaseModel

__all__ = ["held_by"]

_LOOKED_AT: Final = 5_000
"""Objects that are looked at in one tool, nearest first, so that a large table in one is not searched for ever."""

_LIBRARIES: Final = tuple(
    dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
)
"""Where code lies that nobody here wrote: what such a function names is its own affair."""

_ENDS: Final = (str, bytes, int, float, complex, bool, type(None), type, ModuleType, CodeType, BaseLanguageModel)
"""What holds no agent, or, as a model does, starts none."""

_TABLES: Final = (Mapping,)
_TOOLS: Final = (BaseTool,)
_RUNNABLES: Final = (Runnable,)

Held = tuple[object, bool]
"""An object, and whether its fields count as well: they do for what a function or a tool holds itself."""


def held_by(start: object, ends: tuple[type, ...] = ()) -> Iterator[object]:
    """All that a function, a tool or another Runnable can reach by its own means, itself first.

    Followed are closures, defaults and the globals that a function names, also those of further
    functions of the same program; the fields of tools and Runnables, of the object that a method
    belongs to, and of what a function or a tool is given; lists and tables.

    Args:
        start: Where to begin.
        ends: Kinds that are given and not looked into.
    """
    waiting: deque[Held] = deque([(start, True)])
    seen = {id(start)}
    kept: list[object] = []  # bound methods are made anew each time: their ids must not come round again
    while waiting and len(seen) <= _LOOKED_AT:
        held, near = waiting.popleft()
        yield held
        if isinstance(held, ends):
            continue
        for one in _directly_held_by(held, near=near):
            if id(one[0]) not in seen and not _is_a(one[0], _ENDS):
                seen.add(id(one[0]))
                kept.append(one[0])
                waiting.append(one)


def _directly_held_by(held: object, *, near: bool) -> Iterable[Held]:
    if isinstance(held, FunctionType):
        return _of_function(held)
    if isinstance(held, MethodType):
        return (held.__func__, True), (held.__self__, True)
    if isinstance(held, partial):
        return [(one, True) for one in (held.func, *held.args, *held.keywords.values())]
    if isinstance(held, dict) or _is_a(held, _TABLES):
        return [(one, near) for one in cast("Mapping[Any, object]", held).values()]
    if isinstance(held, list | tuple | set | frozenset):
        return [(one, near) for one in held]
    if _is_a(held, _TOOLS):
        classes = (getattr(type(held), name, None) for name in ("_run", "_arun"))
        return [(one, True) for one in (*_fields(held), *filter(None, classes))]
    if _is_a(held, _RUNNABLES):
        return [(one, False) for one in _fields(held)]
    if not near:
        return ()
    called = getattr(type(held), "__call__", None)  # noqa: B004  # the function itself is wanted
    return [(one, False) for one in (*_fields(held), *([called] if isinstance(called, FunctionType) else []))]


def _is_a(held: object, kinds: tuple[type, ...]) -> bool:
    """As `isinstance`, which takes long for the abstract ones, and is worked out once for each class."""
    kind: Any = type(held)  # the cache wants what can be hashed, which most classes can
    try:
        return _is_kind(kind, kinds) or (held.__class__ is not kind and isinstance(held, kinds))
    except TypeError:  # a class that cannot be looked up
        return isinstance(held, kinds)


@lru_cache(maxsize=4_096)
def _is_kind(kind: type, kinds: tuple[type, ...]) -> bool:
    return issubclass(kind, kinds)


def _fields(held: object) -> list[object]:
    """What an object has in its own fields, without running any code of it."""
    try:
        fields = object.__getattribute__(held, "__dict__")
    except AttributeError:  # it has slots, or none
        return []
    private = held.__pydantic_private__ if isinstance(held, BaseModel) else None
    return [*fields.values(), *(private or {}).values()]


def _of_function(function: FunctionType) -> Iterator[Held]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents, True
        except ValueError:  # not filled yet
            continue
    yield from ((one, True) for one in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()))
    if (wrapped := vars(function).get("__wrapped__")) is not None:
        yield wrapped, True
    for name in _globals_named_in(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            if _of_the_same_program(function, value):
                yield value, True
        elif value is not None:
            yield value, True


@lru_cache(maxsize=4_096)
def _globals_named_in(code: CodeType) -> tuple[str, ...]:
    """The globals that a function reads, also in the functions and comprehensions inside of it."""
    names = {str(one.argval): None for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            names.update(dict.fromkeys(_globals_named_in(inner)))
    return tuple(names)


def _of_the_same_program(function: FunctionType, other: FunctionType) -> bool:
    """Whether a function is a part of the program that another one is, and not of some library."""
    tops = [str(one.__module__).partition(".")[0] for one in (function, other)]
    return tops[0] == tops[1] or not other.__code__.co_filename.startswith(_LIBRARIES)
