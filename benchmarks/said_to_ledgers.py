"""What is said to a ledger of one call: overheard in a real conversation, and said again to any ledger of new calls."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from tests.support import Recorder, ScriptedModel, call, says
from toolgate_langchain import Surface, Tier, ToolGate, ToolProfile, Verdict
from toolgate_langchain.approvals.memory_record import RecordingInMemoryLedger
from toolgate_langchain.hosts.langgraph.driving import pending_requests

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolgate_langchain.approvals.steps import Steps

__all__ = ["overheard"]

Said = tuple[str, tuple[Any, ...], dict[str, Any]]

_fresh = count()


class _Overhearing:
    """A ledger that keeps what it is told, and does it."""

    def __init__(self) -> None:
        self._ledger, self.overheard = RecordingInMemoryLedger(), list[Said]()

    def quiet(self, *_: Any) -> bool:
        """Never: a database cannot say so without being asked."""
        return False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ledger, name)
        if not callable(found):
            return found

        def told(*args: Any, **kwargs: Any) -> Any:
            self.overheard.append((name, args, kwargs))
            return found(*args, **kwargs)

        return told


def overheard() -> dict[str, Callable[[Any], Steps[None]]]:
    """What is said to a ledger of one asked, one released and one reading call, each from its turn to its result."""
    return {
        "an asked call": partial(_again, _overhear("send", ToolProfile(tier=Tier.CONSEQUENTIAL))),
        "a released call": partial(_again, _overhear("note", ToolProfile(tier=Tier.ROUTINE))),
        "a call that only reads": partial(_again, _overhear("read", ToolProfile(tier=Tier.READ_ONLY))),
    }


def _overhear(name: str, profile: ToolProfile) -> list[Said]:
    ledger = _Overhearing()
    gate = ToolGate(None, [Surface("chat", routine=Verdict.ALLOW)], ledger=ledger)
    model = ScriptedModel(
        script=[says(call(name, "c", to="ann@example.org", subject="Hello", body="Tomorrow at nine."))]
    )
    agent: Any = create_agent(
        model, [Recorder().tool(name, profile)], middleware=gate.around(), checkpointer=InMemorySaver()
    )
    config: Any = {"configurable": {"thread_id": "thread"}}
    agent.invoke({"messages": [("user", "go")]}, config)
    if pending := pending_requests(agent.get_state(config).interrupts):
        gate.answer(agent, config, {"type": "approve", "by": "ann", "request_id": pending[0][1].request_id})
    # What is looked at before the turn is no call's.
    first = next(place for place, (what, _, _) in enumerate(ledger.overheard) if what == "said") + 1
    return ledger.overheard[first:]


def _again(said: list[Said], ledger: Any) -> Steps[None]:
    """Say the same to another ledger, of a new run on a thread of its own."""
    mark, keeps = f"-{next(_fresh)}", getattr(ledger, "keeps_record", False) is True
    for name, args, kwargs in said:
        given = {key: _marked(value, mark) for key, value in kwargs.items()}
        if not keeps:
            given.pop("entry", None)
            if name == "note":
                continue
        if name == "said" and ledger.quiet("a run", "a thread") is True:
            continue
        yield partial(getattr(ledger, name), *(_marked(value, mark) for value in args), **given)


def _marked(value: Any, mark: str) -> Any:
    """The same with other ids, so that nothing was said of them before."""
    if isinstance(value, str):
        return value + mark if len(value) >= 32 or value == "thread" else value
    if isinstance(value, list | tuple):
        return type(value)(_marked(one, mark) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        ids = [one.name for one in fields(value) if one.name in ("request_id", "thread_id", "digest")]
        return replace(value, **{name: _marked(getattr(value, name), mark) for name in ids})
    return value
