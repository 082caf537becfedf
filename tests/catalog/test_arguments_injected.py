"""Values that code fills in lie outside the arguments; a model that supplies one is refused."""

from typing import Annotated, Any, Optional

import pytest
from langchain.tools import InjectedState, InjectedStore, ToolRuntime
from langchain_core.tools import BaseTool, InjectedToolArg, InjectedToolCallId, StructuredTool, tool
from langgraph.prebuilt.tool_node import ToolNode
from pydantic import BaseModel, Field, field_validator

from tests.support import call, chat, says
from toolgate_langchain import Tier, tool_profile
from toolgate_langchain.catalog.arguments import ArgumentSchema
from toolgate_langchain.errors import InvalidArgumentsError


class Own(InjectedToolArg):
    """A mark of an application's own."""


@tool
def everything(
    n: int,
    state: Annotated[dict[str, Any], InjectedState],
    field: Annotated[str, InjectedState("messages")],
    union: Annotated[dict[str, Any] | None, InjectedState],
    inner: Optional[Annotated[dict[str, Any], InjectedState]],  # noqa: UP045  # the other spelling of a union
    store: Annotated[Any, InjectedStore()],
    call_id: Annotated[str, InjectedToolCallId],
    given: Annotated[str, InjectedToolArg],
    own: Annotated[str, Own()],
    work: ToolRuntime,
    typed: ToolRuntime[None, dict[str, Any]],
) -> str:
    """Take everything."""
    return str(n)


@tool
def by_name(n: int, runtime: Any) -> str:
    """Take a parameter that is filled in because of its name."""
    return str(n)


INJECTED = ["state", "field", "union", "inner", "store", "call_id", "given", "own", "work", "typed"]


@pytest.mark.parametrize("name", INJECTED)
def test_a_model_that_supplies_an_injected_field_is_refused(name: str) -> None:
    schema = ArgumentSchema(everything)
    values: tuple[Any, ...] = ("x", {}, None)
    for value in values:
        with pytest.raises(InvalidArgumentsError, match=f"^{name}: not yours to supply$"):
            schema.effective({"n": 1, name: value})
    assert schema.effective({"n": "1"}).values == {"n": 1}


def test_a_parameter_that_is_filled_in_because_of_its_name_is_refused_too() -> None:
    schema = ArgumentSchema(by_name)
    with pytest.raises(InvalidArgumentsError, match="runtime: not yours to supply"):
        schema.effective({"n": 1, "runtime": {}})
    assert schema.effective({"n": "1"}).values == {"n": 1}


@pytest.mark.parametrize("one", [everything, by_name], ids=lambda one: str(one.name))
def test_all_that_langgraph_fills_in_is_known_as_injected(one: BaseTool) -> None:
    """Asked of LangGraph's own tool node, so that a new way of injecting does not go unseen."""
    injected = ToolNode([one])._injected_args[one.name]
    filled = {*injected.state, injected.store, injected.runtime, *injected.all_injected_keys} - {None}
    assert filled <= ArgumentSchema(one).injected
    assert filled


def test_injected_parameters_of_a_tool_with_a_plain_json_schema_are_known_too() -> None:
    def run(n: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
        return f"{n} {len(state)}"

    made = StructuredTool(
        name="act",
        description="Act.",
        func=run,
        args_schema={"type": "object", "properties": {"n": {"type": "integer"}}},
    )
    with pytest.raises(InvalidArgumentsError, match="state: not yours to supply"):
        ArgumentSchema(made).effective({"n": 1, "state": {}})


def test_an_alias_of_an_injected_field_is_refused_as_well() -> None:
    class Schema(BaseModel):
        n: int
        user: Annotated[str, InjectedToolArg] = Field(default="nobody", alias="userName")

        @field_validator("n")
        @classmethod
        def _more(cls, value: int) -> int:
            return value + 1

    made = StructuredTool(name="act", description="Act.", func=lambda **_: "", args_schema=Schema)
    for name in ("user", "userName"):
        with pytest.raises(InvalidArgumentsError, match=f"{name}: not yours to supply"):
            ArgumentSchema(made).effective({"n": 1, name: "root"})
    assert ArgumentSchema(made).effective({"n": 1}).values == {"n": 1}


def test_validators_of_the_other_fields_are_kept() -> None:
    class Schema(BaseModel):
        n: int
        state: Annotated[dict[str, Any], InjectedState]

        @field_validator("n")
        @classmethod
        def _small(cls, value: int) -> int:
            if value > 9:
                raise ValueError("too large")
            return value

    made = StructuredTool(name="act", description="Act.", func=lambda **_: "", args_schema=Schema)
    assert ArgumentSchema(made).effective({"n": "9"}).values == {"n": 9}
    with pytest.raises(InvalidArgumentsError, match="n: Value error, too large"):
        ArgumentSchema(made).effective({"n": 10})


def test_in_an_agent_the_tool_gets_the_real_values_and_a_forged_one_is_refused() -> None:
    seen: list[tuple[int, int, str]] = []

    @tool_profile(tier=Tier.READ_ONLY)
    @tool
    def look(
        n: int,
        state: Annotated[dict[str, Any], InjectedState],
        call_id: Annotated[str, InjectedToolCallId],
        work: ToolRuntime,
    ) -> str:
        """Look."""
        seen.append((n, len(state["messages"]), call_id))
        return work.tool_call_id or ""

    talk = chat([says(call("look", "a", n="4"), call("look", "b", n=4, state={"messages": []}))], [look])
    talk.say()
    assert seen == [(4, 2, "a")]
    assert talk.result("a") == "a"
    assert talk.result("b") == (
        "The call of 'look' was not executed. Its arguments are not valid: state: not yours to supply"
    )
