"""What is replayed: the calls of each task and each attack, with what the tools gave."""

from __future__ import annotations

import json
import lzma
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

__all__ = ["Attack", "Step", "Suite", "Task", "read_suites"]

RECORDED = Path(__file__).with_name("workspace_slack.json.xz")
"""Two suites with their outputs, recorded from the package; see README.md and LICENSE beside it."""


@dataclass(frozen=True)
class Step:
    """One call of the model, and what its tool gave."""

    tool: str
    arguments: dict[str, Any]
    output: str
    hostile: bool = False
    """Whether the call is the attacker's."""

    @property
    def structure(self) -> Any:
        """The output as the tool had it before it was written down as YAML; `None` where it is plain text."""
        try:
            read = yaml.load(self.output, Loader=yaml.CBaseLoader)
        except yaml.YAMLError:
            return None
        return read if isinstance(read, dict | list) else None


@dataclass(frozen=True)
class Task:
    """What a person asked for, and the calls that do it."""

    name: str
    prompt: str
    steps: tuple[Step, ...]


@dataclass(frozen=True)
class Attack:
    """A task whose data tell the model to do something else, which it does."""

    task: str
    goal: str
    prompt: str
    steps: tuple[Step, ...]


@dataclass
class Suite:
    """One suite of AgentDojo."""

    name: str
    schemas: dict[str, dict[str, Any]]
    """The JSON Schema of each tool's arguments."""
    tasks: list[Task] = field(default_factory=list)
    attacks: list[Attack] = field(default_factory=list)


def read_suites(path: Path | None = None) -> list[Suite]:
    """The recorded suites.

    Args:
        path: A file of the same form; left out, the one in this folder.
    """
    path = RECORDED if path is None else path
    raw = path.read_bytes()
    read = json.loads(lzma.decompress(raw) if path.suffix == ".xz" else raw)
    return [suite_of(name, plain, read["outputs"]) for name, plain in read["suites"].items()]


def suite_of(name: str, plain: dict[str, Any], outputs: dict[str, str]) -> Suite:
    """A suite in its plain form.

    Args:
        name: Its name.
        plain: Tools, tasks, goals and pairs of a task and a goal.
        outputs: Outputs by their hash; one without a hash stands for itself.
    """
    suite = Suite(name, {tool: one["parameters"] for tool, one in plain["tools"].items()})
    for task, one in plain["user_tasks"].items():
        suite.tasks.append(Task(task, one["prompt"], _steps(one["calls"], one["outputs"], outputs)))
    for task, pairs in plain["pairs"].items():
        user = plain["user_tasks"][task]
        for goal, pair in pairs.items():
            hostile = pair.get("attack_calls") or plain["injection_tasks"][goal]["calls"]
            if not hostile:
                continue  # a goal of words alone, which makes no call
            steps = _steps(pair.get("user_calls") or user["calls"], pair["outputs"], outputs)
            attack = _steps(hostile, pair["attack_outputs"], outputs, hostile=True)
            cut = pair["at"] + 1
            suite.attacks.append(Attack(task, goal, user["prompt"], (*steps[:cut], *attack, *steps[cut:])))
    return suite


def _steps(
    calls: list[dict[str, Any]], given: list[str], outputs: dict[str, str], *, hostile: bool = False
) -> tuple[Step, ...]:
    return tuple(
        Step(call["fn"], call["args"], outputs.get(output, output), hostile)
        for call, output in zip(calls, given, strict=True)
    )
