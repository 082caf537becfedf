"""Giving a model the tools that are offered, wherever in a chain it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, message_chunk_to_message
from langchain_core.runnables import Runnable, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.fallbacks import RunnableWithFallbacks

from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.offering import provider_tool_name, still_possible

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

__all__ = ["check_bound", "read_reply", "with_tools"]

_Model = Runnable[Any, Any]


def with_tools(model: _Model, offered: Sequence[BaseTool | dict[str, Any]]) -> _Model:
    """The model with these tools and no others.

    A chat model is given them. One that was given tools already keeps those of them that are offered.
    In a chain it is the last model that counts. Whatever else takes messages is left alone: it chooses
    what it shows its model, and its calls are gated all the same.

    Args:
        model: What gives the turns.
        offered: The tools that the gate offers.

    Returns:
        The same object where nothing is different.
    """
    if isinstance(model, BaseChatModel):
        return cast("_Model", model.bind_tools(list(offered))) if offered else model
    if isinstance(model, RunnableBindingBase):
        if "tools" in model.kwargs:
            return _narrowed(model, offered)
        bound = with_tools(model.bound, offered)
        return model if bound is model.bound else model.model_copy(update={"bound": bound})
    if isinstance(model, RunnableSequence):
        steps = list(model.steps)
        for place in reversed(range(len(steps))):
            step = with_tools(steps[place], offered)
            if step is not steps[place]:
                return RunnableSequence(*steps[:place], step, *steps[place + 1 :], name=model.name)
        return model
    if isinstance(model, RunnableWithFallbacks):
        first = with_tools(model.runnable, offered)
        fallbacks = [with_tools(one, offered) for one in model.fallbacks]
        return model.model_copy(update={"runnable": first, "fallbacks": fallbacks})
    return model


def _narrowed(model: RunnableBindingBase[Any, Any], offered: Sequence[BaseTool | dict[str, Any]]) -> _Model:
    """A model that was given tools, with those of them that are offered."""
    names = {_name(tool) for tool in offered}
    kept = [tool for tool in model.kwargs["tools"] if _name(tool) in names]
    if kept:
        kwargs = {**model.kwargs, "tools": kept}
        if "tool_choice" in kwargs and (choice := still_possible(kwargs["tool_choice"], kept)) is None:
            del kwargs["tool_choice"]
        elif "tool_choice" in kwargs:
            kwargs["tool_choice"] = choice
    else:
        # Providers refuse an empty list, and settings for tools where there are none.
        without = ("tools", "tool_choice", "parallel_tool_calls")
        kwargs = {name: value for name, value in model.kwargs.items() if name not in without}
    return model.model_copy(update={"kwargs": kwargs})


def check_bound(model: _Model, known: frozenset[str]) -> None:
    """Refuse a model that brings tools which the agent does not have: nobody could see their calls.

    Args:
        model: What gives the turns.
        known: The names of the agent's tools.

    Raises:
        ConfigurationError: Naming them.
    """
    if unknown := sorted({_name(tool) for tool in _brought(model)} - known):
        raise ConfigurationError(
            f"the model was given tools that the agent does not have ({', '.join(map(repr, unknown))}); give them to "
            "GatedAgent(tools=[...]) as well, or do not bind them to the model"
        )


def _brought(model: Any) -> list[Any]:
    """The tools that a model, or one inside of a chain, was given already."""
    if isinstance(model, RunnableSequence):
        return [tool for step in model.steps for tool in _brought(step)]
    if isinstance(model, RunnableWithFallbacks):
        return [tool for one in model.runnables for tool in _brought(one)]
    brought: list[Any] = []
    for settings in (getattr(model, "kwargs", None), getattr(model, "model_kwargs", None)):
        if isinstance(settings, Mapping):
            brought += settings.get("tools") or ()
    return brought + (_brought(model.bound) if isinstance(model, RunnableBindingBase) else [])


def _name(tool: Any) -> str:
    return provider_tool_name(tool) if isinstance(tool, Mapping) else str(getattr(tool, "name", tool))


def read_reply(reply: Any) -> AIMessage:
    """The message that a model gave.

    Raises:
        ConfigurationError: If it gave anything else.
    """
    if isinstance(reply, AIMessageChunk):
        reply = message_chunk_to_message(reply)
    if not isinstance(reply, AIMessage):
        raise ConfigurationError(
            f"the model gave {type(reply).__name__}, which is not an AIMessage; a chain must end with its model and "
            "without an output parser"
        )
    return reply
