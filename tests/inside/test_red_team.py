"""The suite's attacks on agents inside of agents, where the inner one is a `GatedAgent` and the outer one is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from langchain_core.tools import BaseTool

from toolgate_langchain import Surface, ToolGate
from toolgate_langchain.testing import Host, Setup, all_attacks, all_hosts, red_team
from toolgate_langchain.testing.gated import gated_as_tool
from toolgate_langchain.testing.hosts import SUBAGENTS, Conversation

OUTER = ["create_agent, ToolGateMiddleware", "create_agent, gate.around()", "a graph, one task for all calls"]
INSIDE = [attack for attack in all_attacks() if SUBAGENTS in attack.needs]


class GatedInside:
    """A host whose agents have a `GatedAgent` in their tools.

    Args:
        outer: The host of the agents around it.
    """

    def __init__(self, outer: Host) -> None:
        self.name, self.asynchronous = f"GatedAgent in {outer.name}", outer.asynchronous
        self.abilities = outer.abilities
        self.start: Callable[[Setup], Conversation] = outer.start

    def as_tool(self, name: str, setup: Setup) -> BaseTool:
        """See `Host.as_tool`."""
        return gated_as_tool(name, setup)


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_it_lets_nothing_through_in_an_agent_or_a_graph_and_refuses_no_control(asynchronous: bool) -> None:
    hosts = [GatedInside(host) for host in all_hosts() if host.asynchronous == asynchronous and host.name in OUTER]
    surfaces = [Surface("chat"), Surface("cron", attended=False)]
    report = red_team(lambda: ToolGate(surfaces=surfaces), hosts=hosts, attacks=INSIDE)
    assert report.ok, report.text()
    assert len(hosts) == len(OUTER) and len(report.caught) > 2 * len(INSIDE)
