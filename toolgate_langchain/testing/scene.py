"""What an attack works with: a gate that nobody used before, tools that note their runs, and a host."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from toolgate_langchain.catalog.profile import METADATA_KEY, ToolProfile
from toolgate_langchain.catalog.remote import RemoteServer
from toolgate_langchain.testing.attacking import LetThrough, NotApplicable, Refused
from toolgate_langchain.testing.hosts import Setup
from toolgate_langchain.testing.talking import Talk
from toolgate_langchain.testing.tools import READ, REMOVE, TIERS, Arguments, Ran, made_tool
from toolgate_langchain.vocabulary import Tier, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from langchain_core.tools import BaseTool
    from pydantic import BaseModel

    from toolgate_langchain.catalog.intake import RefusedTool
    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.testing.hosts import Host
    from toolgate_langchain.testing.model import Turn

__all__ = ["Scene"]


class Scene:
    """One attempt's surroundings.

    Args:
        host: How agents are built.
        make_gate: Gives a gate that nobody used before.
        surface: The name of the surface that runs are driven from.
    """

    def __init__(self, host: Host, make_gate: Callable[[], ToolGate], surface: str) -> None:
        self.host, self._make_gate = host, make_gate
        self.gate = make_gate()
        self.surface = self.gate.surfaces[surface]
        self.runs: list[Ran] = []
        self._switched: set[str] = set()

    def again(self) -> Scene:
        """The same surroundings with a new gate and nothing noted."""
        return Scene(self.host, self._make_gate, self.surface.name)

    # --- tools --------------------------------------------------------------------------------

    def tool(
        self,
        name: str = REMOVE,
        profile: ToolProfile | None = None,
        *,
        schema: type[BaseModel] = Arguments,
        then: Callable[[], Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        description: str = "",
    ) -> BaseTool:
        """A tool that notes each run.

        Args:
            name: Its name; the three names of this module have their tiers.
            profile: What it is, in place of its name's tier.
            schema: What it takes.
            then: Called when it runs; what it gives is the result.
            metadata: What it carries besides its profile.
            description: What the model reads.
        """
        runs = self.runs  # and not the scene, in all of which an agent would be looked for

        def run(**arguments: Any) -> Any:
            runs.append(Ran(name, arguments))
            return f"ran {name}" if then is None else then()

        async def arun(**arguments: Any) -> Any:
            return run(**arguments)

        if profile is None and name in TIERS:
            profile = ToolProfile(tier=TIERS[name])
        return made_tool(
            name,
            run,
            arun,
            schema=schema,
            description=description or f"The tool {name}.",
            metadata={**({} if profile is None else {METADATA_KEY: profile}), **(metadata or {})},
        )

    def records(self) -> list[RemoteServer]:
        """A server record that says nothing, and what each of the gate's own says of a tool that it does not name."""
        found = {entry.server.name: entry.server for entry in self.gate.catalog.entries() if entry.server is not None}
        general = [
            replace(
                server,
                name=f"redteam like {server.name}",
                profiles=None,
                declarations={name: said for name, said in (server.declarations or {}).items() if name == "*"},
            )
            for server in found.values()
        ]
        return [RemoteServer("redteam server"), *general]

    def count(self, name: str = REMOVE) -> int:
        """How often a tool ran."""
        return sum(1 for one in self.runs if one.name == name)

    # --- what must hold -----------------------------------------------------------------------

    def nothing_ran(self, because: str, *, but: Sequence[str] = (READ,)) -> None:
        """Check that no tool ran.

        Args:
            because: What must not have happened, as the end of a sentence.
            but: Tools whose runs do not count.

        Raises:
            LetThrough: If one did.
        """
        ran = [str(one) for one in self.runs if one.name not in but]
        if ran:
            raise LetThrough(f"{ran[0]}, {because}")

    def ran_once(self, name: str = REMOVE) -> None:
        """Check that a tool ran exactly once.

        Raises:
            LetThrough: If it ran more often.
            Refused: If it did not run.
        """
        if self.count(name) > 1:
            raise LetThrough(f"{name} ran {self.count(name)} times on one approval")
        if not self.count(name):
            raise Refused(f"{name} did not run")

    def possible(self, tier: Tier | None = Tier.CONSEQUENTIAL) -> None:
        """Check that the surface does not refuse tools of a tier as such, which is its operator's wish.

        Raises:
            NotApplicable: If it does.
        """
        if tier is not Tier.READ_ONLY and self.surface.answer(tier) is Verdict.DENY:
            named = "unclassified" if tier is None else tier.value
            raise NotApplicable(f"surface {self.surface.name!r} denies {named} tools")

    # --- conversations ------------------------------------------------------------------------

    def talk(self, *script: Turn, tools: Sequence[BaseTool], **setup: Any) -> Talk:
        """An agent behind the gate.

        Args:
            *script: What its model says.
            tools: Its tools.
            **setup: Further fields of `Setup`.
        """
        for tool in tools:
            self._admit(tool)
        setup.setdefault("surface", self.surface.name)
        made = Setup(gate=self.gate, script=script, tools=tools, **setup)
        return Talk(self, self.host.start(made), made)

    def subagent(
        self, *script: Turn, tools: Sequence[BaseTool], name: str = "redteam_helper", **setup: Any
    ) -> BaseTool:
        """An agent behind the gate, as a tool of another one; see `talk`."""
        for tool in tools:
            self._admit(tool)
        setup.setdefault("surface", self.surface.name)
        made = self.host.as_tool(name, Setup(gate=self.gate, script=script, tools=tools, **setup))
        self._admit(made)
        return made

    # --- the catalog --------------------------------------------------------------------------

    def register(self, tool: BaseTool) -> None:
        """Register a tool of the suite, switched on."""
        self.gate.catalog.register(tool)
        self._switch_on(tool.name)

    def add_remote(self, server: RemoteServer, tools: Sequence[BaseTool]) -> tuple[RefusedTool, ...]:
        """Register the tools of a server, switched on, and return what was refused."""
        refused = self.gate.catalog.add_remote(server, tools)
        for tool in tools:
            if self.gate.catalog.get(tool.name) is not None:
                self._switch_on(tool.name)
        return refused

    def _switch_on(self, name: str) -> None:
        """Switch a tool on once, where the catalog's own switches leave it off."""
        catalog = self.gate.catalog
        entry = catalog.get(name)
        if name not in self._switched and entry is not None and not catalog.is_enabled(entry):
            catalog.switch_tool(name, on=True)
        self._switched.add(name)

    def _admit(self, tool: BaseTool) -> None:
        """Register a tool where the catalog takes nothing at first sight."""
        catalog = self.gate.catalog
        if catalog.get(tool.name) is None and tool.name not in self._switched:
            if catalog.closed or not catalog.is_enabled(catalog.meet(tool)):
                self.register(tool)
            self._switched.add(tool.name)
