"""A tool of a toolkit behind a policy for its resources: the same name, words and arguments, and one more check."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from langchain_core.tools import BaseTool
from pydantic import ConfigDict, Field

from toolgate_langchain.catalog.profile import METADATA_KEY, ToolProfile
from toolgate_langchain.catalog.wellknown import recognise
from toolgate_langchain.errors import ConfigurationError
from toolgate_langchain.hosts.engine.parent_run import current_run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.callbacks import CallbackManagerForToolRun

    from toolgate_langchain.catalog.entry import CatalogEntry
    from toolgate_langchain.policy.caller import Caller

__all__ = ["GuardedTool", "Resources", "guarded", "guarded_tool"]


class Resources(Protocol):
    """What knows how the tools of one toolkit name their resources."""

    def run(
        self, tool: GuardedTool, arguments: dict[str, Any], caller: Caller | None, inner: Callable[..., Any]
    ) -> Any:
        """Run one call, or say of what may not be used what is said of what does not exist.

        Args:
            tool: The tool.
            arguments: What the tool was given.
            caller: For whom the run runs.
            inner: Runs the toolkit's own tool with the arguments that it is given.
        """
        ...


class GuardedTool(BaseTool):
    """One tool of a toolkit, run only on resources that the caller of the run may use.

    It asks the policy itself, each time it runs, whatever was decided before. Outside of a run behind the gate
    nobody is calling, and nobody may use anything.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    inner: BaseTool = Field(exclude=True)
    resources: Any = Field(exclude=True)
    known_as: str
    """The name under which the toolkit ships it."""

    def _run(self, *, run_manager: CallbackManagerForToolRun | None = None, **arguments: Any) -> Any:
        callbacks = None if run_manager is None else run_manager.get_child()

        def inner(**given: Any) -> Any:
            return self.inner.run(given, callbacks=callbacks)

        run = current_run.get()
        caller = None if run is None else run.run.context.caller
        resources: Resources = self.resources
        return resources.run(self, arguments, caller, inner)


def guarded(
    resources: Resources, tools: Sequence[BaseTool], profiles: Mapping[str, ToolProfile], what: str
) -> list[BaseTool]:
    """The tools of a toolkit behind a policy, in their order.

    Args:
        resources: What checks them.
        tools: The toolkit's own tools.
        profiles: The profile of each that can be checked, by the name under which the toolkit ships it.
        what: The toolkit, for the message.

    Raises:
        ConfigurationError: If one is none of the toolkit's: nobody knows what it does with a name.
    """
    made: list[BaseTool] = []
    for tool in tools:
        known = recognise(tool)
        if known is None or known.name not in profiles:
            raise ConfigurationError(
                f"{tool.name!r} is no tool of {what}; it can be checked: {', '.join(sorted(profiles))}"
            )
        own = (tool.metadata or {}).get(METADATA_KEY)
        profile = own if isinstance(own, ToolProfile) else profiles[known.name]
        made.append(
            GuardedTool(
                name=tool.name,
                description=tool.description,
                args_schema=tool.get_input_schema(),
                metadata={**(tool.metadata or {}), METADATA_KEY: profile},
                handle_tool_error=tool.handle_tool_error,
                inner=tool,
                resources=resources,
                known_as=known.name,
            )
        )
    return made


def guarded_tool(resources: Resources, entry: CatalogEntry) -> GuardedTool | None:
    """The tool where it is one that these resources guard, else `None`."""
    tool = entry.tool
    return tool if type(tool) is GuardedTool and tool.resources is resources else None
