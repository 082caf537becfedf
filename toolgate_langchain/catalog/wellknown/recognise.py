"""Whether a tool is one of the well-known ones.

A name proves nothing, and neither does what a function says of itself: `functools.wraps` gives any
function another one's module and name. A tool counts as well known only if the class, or each
function that runs, is the very object that its module holds, or was made from a code object that
lies there. Modules are looked up among those already loaded; nothing is imported.
"""

from __future__ import annotations

import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Final

from toolgate_langchain.catalog.wellknown.families import WELL_KNOWN_TOOLS

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from toolgate_langchain.catalog.profile import ToolProfile
    from toolgate_langchain.catalog.wellknown.record import WellKnownTool

__all__ = ["recognise", "well_known_profile"]

_BY_CODE: Final = {code: tool for tools in WELL_KNOWN_TOOLS.values() for tool in tools for code in tool.code}

_ENTRANCES: Final = frozenset({"_run", "_arun", "run", "arun", "invoke", "ainvoke"})
"""The methods through which a tool is run; one on the instance would hide the class's."""


def well_known_profile(tool: BaseTool) -> ToolProfile | None:
    """The profile of a local tool that is recognised by its code, or `None`."""
    known = recognise(tool)
    return None if known is None else known.profile


def recognise(tool: BaseTool) -> WellKnownTool | None:
    """What was written down about the code that this tool runs, or `None`.

    A subclass is not its base class, neither of a tool nor of the middleware that made it, and a
    tool with one known and one unknown function is not known.
    """
    if not _ENTRANCES.isdisjoint(vars(tool)):
        return None
    # Loaded when first needed, which is when a tool of this kind is there.
    from langchain_core.tools import StructuredTool

    if type(tool) is not StructuredTool:
        return _by_class(type(tool))
    found = [_by_function(function) for function in (tool.func, tool.coroutine) if function is not None]
    return found[0] if found and all(known is found[0] for known in found) else None


def _by_class(kind: type[BaseTool]) -> WellKnownTool | None:
    known = _BY_CODE.get(f"{kind.__module__}:{kind.__qualname__}")
    module = sys.modules.get(kind.__module__)
    if known is None or module is None or getattr(module, kind.__name__, None) is not kind:
        return None
    # A method that was put there from elsewhere is not the one that was looked at.
    own = [vars(kind)[name] for name in _ENTRANCES if name in vars(kind)]
    written_here = all(isinstance(method, FunctionType) and method.__globals__ is vars(module) for method in own)
    return known if written_here else None


def _by_function(function: object) -> WellKnownTool | None:
    if not isinstance(function, FunctionType):
        return None
    known = _BY_CODE.get(f"{function.__module__}:{function.__qualname__}")
    module = sys.modules.get(function.__module__)
    if known is None or module is None or function.__globals__ is not vars(module):
        return None
    path, *inner = function.__qualname__.split(".<locals>.")
    owner, home = _look_up(module, path)
    if home is None or not any(code is function.__code__ for code in _codes(home.__code__, inner)):
        return None
    return known if owner is None or _made_by(function, owner) else None


def _look_up(module: object, path: str) -> tuple[type | None, FunctionType | None]:
    """The class, if any, and the function that a module has under a dotted path."""
    from langchain_core.tools import StructuredTool

    owner, found = None, module
    for name in path.split("."):
        owner, found = (found if isinstance(found, type) else None), getattr(found, name, None)
    if isinstance(found, StructuredTool):  # `@tool` leaves the tool where the function was
        found = found.func
    return owner, found if isinstance(found, FunctionType) else None


def _codes(code: CodeType, inner: list[str]) -> list[CodeType]:
    """The code objects of the functions that are defined under these names inside each other."""
    codes = [code]
    for name in inner:
        codes = [
            found for code in codes for found in code.co_consts if isinstance(found, CodeType) and found.co_name == name
        ]
    return codes


def _made_by(function: FunctionType, owner: type) -> bool:
    """Whether the object that the function works for is of that class itself, not of a subclass."""
    captured: list[Any] = []
    for cell in function.__closure__ or ():
        try:
            captured.append(cell.cell_contents)
        except ValueError:  # not filled yet
            return False
    makers = [type(item) for item in captured if isinstance(item, owner)]
    return bool(makers) and all(maker is owner for maker in makers)
