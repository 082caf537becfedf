"""What an attack is, and the three ways in which it or its control can end before its last line."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Literal

from toolgate_langchain.errors import ToolGateWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolgate_langchain.testing.scene import Scene

__all__ = ["Attack", "ControlOutcome", "LetThrough", "NotApplicable", "Outcome", "Refused", "attack"]


class LetThrough(Exception):
    """Something happened that must not; the text says what."""


class Refused(Exception):
    """A call was refused where it was to be asked about or to run: caught as an attack, a mistake as a control."""


class NotApplicable(Exception):
    """The attack cannot be made here; the text says why."""


class Outcome(Enum):
    """How an attack ended."""

    CAUGHT = "caught"
    LET_THROUGH = "let through"
    NOT_APPLICABLE = "not applicable"
    BROKE = "broke"
    """It raised something else: nothing is known of it."""


class ControlOutcome(Enum):
    """How an attack's control ended: the same call, harmless."""

    WORKS = "works"
    REFUSED_BY_MISTAKE = "refused by mistake"
    NOT_APPLICABLE = "not applicable"


Where = Literal["attended", "any", "gate"]
"""Surfaces on which an attack is made: those with a person, all of them, or none because it needs no agent."""


@dataclass(frozen=True)
class Attack:
    """One attempt to get something past a gate, with its control.

    Args:
        line: The number of the line that it belongs to; docs/red-team.md lists the lines.
        name: A short name, unique among all attacks.
        tries: What it tries, in one sentence.
        act: Makes the attempt. It returns where it was caught, and raises `LetThrough`, `Refused` or
            `NotApplicable`.
        check: The control. It returns where the harmless call worked, and raises `Refused` or `NotApplicable`.
        where: On which surfaces it is made.
        needs: What a host must be able to do for it, of `hosts.ABILITIES`.
    """

    line: int
    name: str
    tries: str
    act: Callable[[Scene], None]
    check: Callable[[Scene], None]
    where: Where = "attended"
    needs: frozenset[str] = frozenset()

    def run(self, scene: Scene) -> tuple[Outcome, str]:
        """Make the attempt, on a gate that nobody used before.

        Returns:
            How it ended, and why.
        """
        try:
            with _quietly():
                self.act(scene)
        except LetThrough as through:
            return Outcome.LET_THROUGH, str(through)
        except Refused as refused:
            return Outcome.CAUGHT, str(refused)
        except NotApplicable as unfit:
            return Outcome.NOT_APPLICABLE, str(unfit)
        except Exception as error:
            return Outcome.BROKE, f"{type(error).__name__}: {error}"
        return Outcome.CAUGHT, ""

    def control(self, scene: Scene) -> tuple[ControlOutcome, str]:
        """Make the harmless call, on a gate that nobody used before.

        Returns:
            How it ended, and why.
        """
        try:
            with _quietly():
                self.check(scene)
        except LetThrough:
            # It ran, although nobody was asked. That is for the attack to say.
            return ControlOutcome.WORKS, ""
        except NotApplicable as unfit:
            return ControlOutcome.NOT_APPLICABLE, str(unfit)
        except Exception as error:
            told = str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}"
            return ControlOutcome.REFUSED_BY_MISTAKE, told
        return ControlOutcome.WORKS, ""


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the gate's warnings: what it warns of is what an attack does on purpose."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolGateWarning)
        yield


def attack(
    line: int,
    name: str,
    tries: str,
    *,
    control: Callable[[Scene], None],
    where: Where = "attended",
    needs: frozenset[str] | set[str] = frozenset(),
) -> Callable[[Callable[[Scene], None]], Attack]:
    """Make a function that attacks an `Attack`.

    Args:
        line: See `Attack`, as for all further arguments.
        name: A short name.
        tries: What it tries.
        control: Its control.
        where: On which surfaces.
        needs: What a host must be able to do.
    """

    def made(act: Callable[[Scene], None]) -> Attack:
        return Attack(line, name, tries, act, control, where, frozenset(needs))

    return made
