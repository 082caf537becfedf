"""Structured output of `create_agent`, which looks like tool calls and is none."""

from __future__ import annotations

from typing import Any

from langchain.agents.structured_output import AutoStrategy, ToolStrategy

__all__ = ["structured_output_names"]


def structured_output_names(response_format: Any) -> frozenset[str]:
    """The names of the pseudo-tools through which a model gives structured output; they are not tool calls."""
    if response_format is None:
        return frozenset()
    if isinstance(response_format, AutoStrategy):
        response_format = ToolStrategy(schema=response_format.schema)
    if isinstance(response_format, ToolStrategy):
        return frozenset(spec.name for spec in response_format.schema_specs)
    return frozenset()
