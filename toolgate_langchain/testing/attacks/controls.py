"""The controls: harmless calls that must work. Nearly every attack is one of these with something wrong in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate_langchain.testing.attacking import Refused
from toolgate_langchain.testing.model import call, says
from toolgate_langchain.testing.tools import READ, REMOVE
from toolgate_langchain.vocabulary import Tier

if TYPE_CHECKING:
    from toolgate_langchain.testing.scene import Scene

__all__ = ["approved_pair_runs", "approved_runs", "read_runs"]


def read_runs(scene: Scene) -> None:
    """A read-only call runs, on every surface."""
    scene.talk(says(call(READ, path="a")), tools=[scene.tool(READ)]).say().approve_all()
    scene.ran_once(READ)


def approved_runs(scene: Scene) -> None:
    """A consequential call is asked about, and runs when it is approved."""
    scene.possible()
    scene.talk(says(call(REMOVE, path="a")), tools=[scene.tool()]).say().approve_all()
    scene.ran_once()


def approved_pair_runs(scene: Scene) -> None:
    """Two consequential calls of one turn run when each is approved."""
    scene.possible(Tier.CONSEQUENTIAL)
    turn = says(call(REMOVE, path="a"), call(REMOVE, path="b"))
    scene.talk(turn, tools=[scene.tool()]).say().approve_all()
    if sorted(str(one.arguments["path"]) for one in scene.runs) != ["a", "b"]:
        raise Refused(f"of two approved calls {scene.count()} ran")
