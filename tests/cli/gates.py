"""Gates that the tests of `toolgate redteam` name."""

from __future__ import annotations

from toolgate_langchain import Surface, ToolGate


def strict() -> ToolGate:
    """A gate with its defaults."""
    return ToolGate(surfaces=[Surface("chat")])


def lenient() -> ToolGate:
    """A gate whose one heuristic approves everything."""
    return ToolGate(surfaces=[Surface("chat")], heuristics=[lambda *_: True])


SHARED = strict()


def shared() -> ToolGate:
    """The same gate each time."""
    return SHARED


def raising() -> ToolGate:
    raise OSError("there is no such folder")


def no_gate() -> str:
    return "no gate"
