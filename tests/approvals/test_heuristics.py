"""The ordered list of heuristics, asked from synchronous and asynchronous code."""

import asyncio
import contextvars
import functools
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from langchain_core.messages import ToolCall

from tests.support import Recorder
from toolgate_langchain import Surface, Tier, ToolGate, ToolProfile
from toolgate_langchain.approvals.heuristics import (
    Heuristic,
    HeuristicContext,
    ask_heuristics,
    heuristic_name,
)
from toolgate_langchain.approvals.steps import arun_steps, run_steps
from toolgate_langchain.catalog.entry import CatalogEntry
from toolgate_langchain.errors import ConfigurationError, HeuristicError

CALL = ToolCall(name="deploy", args={"n": 1}, id="d", type="tool_call")
CONTEXT = HeuristicContext(
    CatalogEntry("deploy", ToolProfile(tier=Tier.ROUTINE), tool=Recorder().tool("deploy")), Surface("chat"), None
)

Ask = Callable[[Sequence[Heuristic]], str | None]


def asked_sync(heuristics: Sequence[Heuristic]) -> str | None:
    return run_steps(ask_heuristics(heuristics, CALL, CONTEXT))


def asked_async(heuristics: Sequence[Heuristic]) -> str | None:
    return asyncio.run(arun_steps(ask_heuristics(heuristics, CALL, CONTEXT)))


def asked_sync_inside_a_loop(heuristics: Sequence[Heuristic]) -> str | None:
    async def inside() -> str | None:
        return asked_sync(heuristics)

    return asyncio.run(inside())


@pytest.fixture(params=[asked_sync, asked_async, asked_sync_inside_a_loop])
def ask(request: pytest.FixtureRequest) -> Ask:
    chosen: Ask = request.param
    return chosen


def yes(_: ToolCall, __: HeuristicContext) -> bool:
    return True


def no(_: ToolCall, __: HeuristicContext) -> bool:
    return False


async def slow_yes(_: ToolCall, __: HeuristicContext) -> bool:
    await asyncio.sleep(0)
    return True


async def slow_no(_: ToolCall, __: HeuristicContext) -> bool:
    await asyncio.sleep(0)
    return False


def raises(_: ToolCall, __: HeuristicContext) -> bool:
    raise LookupError("no such thing")


async def slow_raises(_: ToolCall, __: HeuristicContext) -> bool:
    await asyncio.sleep(0)
    raise LookupError("no such thing")


@pytest.mark.parametrize(
    ("heuristics", "name"),
    [
        ([], None), ([no, slow_no], None), ([yes], "yes"), ([slow_yes], "slow_yes"), ([no, slow_yes, yes], "slow_yes"),
        ([slow_no, yes, slow_yes], "yes"), ([yes, raises], "yes"), ([slow_yes, slow_raises], "slow_yes"),
    ],
)  # fmt: skip
def test_the_first_true_wins_and_later_ones_are_not_called(ask: Ask, heuristics: list[Heuristic], name: str) -> None:
    assert ask(heuristics) == name


@pytest.mark.parametrize("answer", [None, 0, 1, 1.0, "yes", "true", b"1", [True], (True,), {"approve": True}, object()])
def test_only_exactly_true_is_a_yes(ask: Ask, answer: Any) -> None:
    async def slow(_: ToolCall, __: HeuristicContext) -> Any:
        return answer

    assert ask([lambda _, __: answer, slow]) is None


@pytest.mark.parametrize("broken", [raises, slow_raises])
def test_one_that_raises_ends_it_with_its_error_as_the_cause(ask: Ask, broken: Heuristic) -> None:
    """Later ones are not called, and the message names the heuristic, the error and the tool."""
    name = heuristic_name(broken)
    with pytest.raises(HeuristicError, match=f"heuristic '{name}' raised LookupError on 'deploy'") as failed:
        ask([no, broken, yes])
    assert isinstance(failed.value.__cause__, LookupError)


def test_a_context_variable_reaches_an_asynchronous_heuristic(ask: Ask) -> None:
    """Also where it has to run in a thread of its own, because a loop runs in this one."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="")
    seen = []

    async def looks(_: ToolCall, __: HeuristicContext) -> bool:
        seen.append(variable.get())
        return True

    token = variable.set("set")
    assert ask([looks]) == "looks"
    variable.reset(token)
    assert seen == ["set"]


class Named:
    def __call__(self, _: ToolCall, __: HeuristicContext) -> bool:
        return True


def test_a_heuristic_is_known_by_its_name_or_its_class() -> None:
    assert heuristic_name(yes) == "yes"
    assert heuristic_name(Named()) == "Named"
    assert heuristic_name(functools.partial(yes)) == "partial"


@pytest.mark.parametrize("wrong", ["yes", None, True, ToolProfile()])
def test_what_cannot_be_called_is_refused_when_the_gate_is_built(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match=r"heuristics\[1\]"):
        ToolGate(heuristics=[yes, wrong])


def test_the_context_is_read_only() -> None:
    with pytest.raises(FrozenInstanceError):
        CONTEXT.state = {}  # type: ignore[misc]
