"""The suite: every attack with its control, against one configuration, through every host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.errors import ConfigurationError, needs_extra
from toolgate_langchain.testing.attacking import Attack, ControlOutcome, Outcome
from toolgate_langchain.testing.hosts import ABILITIES
from toolgate_langchain.testing.report import NO_HOST, Finding, Report
from toolgate_langchain.testing.scene import Scene

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolgate_langchain.hosts.gate import ToolGate
    from toolgate_langchain.testing.hosts import Host

__all__ = ["all_attacks", "all_hosts", "red_team"]


def all_hosts() -> list[Host]:
    """Every host of this package that is installed, driven synchronously and asynchronously.

    Raises:
        MissingExtraError: If langchain or langgraph is not installed.
    """
    with needs_extra("The red team's hosts", "agents"):
        from toolgate_langchain.testing.agents import agent_hosts
        from toolgate_langchain.testing.gated import gated_hosts
        from toolgate_langchain.testing.graphs import graph_hosts
    return [*agent_hosts(), *gated_hosts(), *graph_hosts()]


def all_attacks() -> tuple[Attack, ...]:
    """Every attack, in the order of their lines.

    Raises:
        MissingExtraError: If langchain or langgraph is not installed.
    """
    with needs_extra("The red team", "agents"):
        from toolgate_langchain.testing.attacks import ATTACKS
    return ATTACKS


def red_team(
    make_gate: Callable[[], ToolGate],
    *,
    hosts: Iterable[Host] | None = None,
    attacks: Iterable[Attack] | None = None,
    surfaces: Iterable[str] | None = None,
    on_finding: Callable[[Finding, int], None] | None = None,
) -> Report:
    """Attack a configuration, and say what was caught, let through, and refused by mistake.

    The suite brings its own tools (their names begin with `redteam_`), its own model and its own
    remote servers; what is tried out is everything else: surfaces, approval rule, argument policies,
    heuristics, ledger, and what the catalog's server records say of tools in general.

    Args:
        make_gate: Gives the gate as it is in use, with a ledger and a catalog of its own each time.
        hosts: The hosts to attack through; left out, all.
        attacks: The attacks to make; left out, all.
        surfaces: The names of the surfaces to attack on; left out, all of the gate.
        on_finding: Called with each finding as it comes, and with how many there will be.

    Raises:
        ConfigurationError: If `make_gate` gives something else, or the same gate, ledger or catalog twice, or if
            a surface does not exist.
        MissingExtraError: If langchain or langgraph is not installed.
    """
    chosen = tuple(all_attacks() if attacks is None else attacks)
    through = list(all_hosts() if hosts is None else hosts)
    if not through:
        raise ConfigurationError("hosts is empty; there is nothing to attack through")
    gate = _checked(make_gate)
    on = [gate.surface(name).name for name in (gate.surfaces if surfaces is None else surfaces)]
    places = [(attack, host, name) for attack in chosen for host in _hosts_for(attack, through) for name in on]
    run, findings = _Run(make_gate), list[Finding]()
    for attack, host, name in places:
        findings.append(run.finding(host, attack, name))
        if on_finding is not None:
            on_finding(findings[-1], len(places))
    return Report(tuple(findings))


def _hosts_for(attack: Attack, hosts: Sequence[Host]) -> Sequence[Host]:
    """The hosts to make an attack through: any one where it is about the gate alone."""
    return hosts[:1] if attack.where == "gate" else hosts


def _checked(make_gate: Callable[[], ToolGate]) -> ToolGate:
    from toolgate_langchain.hosts.gate import ToolGate

    first, second = make_gate(), make_gate()
    if not isinstance(first, ToolGate) or not isinstance(second, ToolGate):
        raise ConfigurationError(f"make_gate gave {first!r}, which is not a ToolGate")
    for what in ("ledger", "catalog"):
        if getattr(first, what) is getattr(second, what):
            raise ConfigurationError(f"make_gate gave the same {what} twice; make a new one each time it is called")
    return first


class _Run:
    """One run of the suite. A control that several attacks share is tried once for each host and surface."""

    def __init__(self, make_gate: Callable[[], ToolGate]) -> None:
        self._make_gate = make_gate
        self._controls: dict[tuple[object, ...], tuple[ControlOutcome, str]] = {}

    def finding(self, host: Host, attack: Attack, surface: str) -> Finding:
        name = NO_HOST if attack.where == "gate" else f"{host.name}{', asynchronously' if host.asynchronous else ''}"
        place = attack.line, attack.name, attack.tries, name, surface
        scene = Scene(host, self._make_gate, surface)
        if why := _unfit(attack, scene):
            return Finding(*place, Outcome.NOT_APPLICABLE, why, ControlOutcome.NOT_APPLICABLE, why)
        key = attack.check, id(host), surface
        if key not in self._controls:
            self._controls[key] = attack.control(scene.again())
        return Finding(*place, *attack.run(scene), *self._controls[key])


def _unfit(attack: Attack, scene: Scene) -> str:
    """Why an attack cannot be made with this host on this surface; empty where it can."""
    if lacking := sorted(attack.needs - scene.host.abilities):
        return f"{scene.host.name} is no host that {ABILITIES.get(lacking[0], lacking[0])}"
    if attack.where == "attended" and not scene.surface.attended:
        return f"nobody is there on surface {scene.surface.name!r}, and it is about what a person answers or is shown"
    return ""
