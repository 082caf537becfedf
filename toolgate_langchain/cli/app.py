"""The commands, their options, and what their errors look like."""

from __future__ import annotations

import os
import re
from typing import Annotated, Final

import typer

from toolgate_langchain.cli.errors import plain_errors
from toolgate_langchain.cli.inbox import inbox
from toolgate_langchain.cli.record import record, replay
from toolgate_langchain.cli.rules import rules

__all__ = ["app", "split_answers"]

app = typer.Typer(
    help="One gate for every tool call that a LangChain agent makes.",
    epilog="Exit codes: 0 done; 1 it failed, nobody was there to answer `run` or `inbox`, or `redteam` or `replay` "
    "found something; 2 it cannot be used like this.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)

_BETWEEN_ANSWERS: Final = re.compile(r",(?=\s*(?:approve|reject|always|always-tool|edit|respond)\s*(?:[:,]|$))")
"""A comma counts as one between two answers only where an answer follows: reasons and JSON hold commas."""

_Answers = Annotated[
    str | None,
    typer.Option(
        help="Answers in place of a person, in order, with commas between them: approve, reject, reject:REASON, "
        "always, always-tool, edit:{json}, respond:TEXT. What they do not answer is rejected."
    ),
]


@app.command()
def demo(
    base_url: Annotated[
        str | None,
        typer.Option(help="Talk to the model at this OpenAI-compatible address; the key comes from OPENAI_API_KEY."),
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model's name there.")] = None,
    answers: _Answers = None,
) -> None:
    """Watch an agent work on a few files behind the gate.

    Without --base-url the model's replies are recorded ones: no network and no key are needed.
    """
    if model is not None and base_url is None:
        raise typer.BadParameter("--model needs --base-url: the recorded replies are from one model")
    with plain_errors():
        from toolgate_langchain.cli.demo import run_demo

        code = run_demo(base_url, model, _words(answers), api_key=os.environ.get("OPENAI_API_KEY"))
    raise typer.Exit(code)


@app.command()
def run(
    agent: Annotated[
        str,
        typer.Argument(metavar="MODULE:AGENT", help="An agent, or a function without arguments that gives one."),
    ],
    prompt: Annotated[str, typer.Argument(metavar="PROMPT", help="What to say to it.")],
    answers: _Answers = None,
    asynchronous: Annotated[bool, typer.Option("--async", help="Drive the agent asynchronously.")] = False,
    by: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who answers, for the record.")] = None,
) -> None:
    """Run your own agent, and answer in the terminal what its gate asks.

    The agent needs a checkpointer, which keeps a question while it waits. It runs on a fresh thread.
    """
    with plain_errors():
        from toolgate_langchain.cli.run import run_agent

        code = run_agent(agent, prompt, _words(answers), asynchronous=asynchronous, by=by)
    raise typer.Exit(code)


@app.command()
def redteam(
    gate: Annotated[
        str, typer.Argument(metavar="MODULE:GATE", help="A function without arguments that makes the gate anew.")
    ],
    host: Annotated[
        list[str] | None, typer.Option(help="Part of a host's name; may be given again. Left out, all hosts.")
    ] = None,
) -> None:
    """Attack your own gate, and show what was caught, let through and refused by mistake.

    Through all hosts it takes a minute or two. A terminal shows how far it is.

    The exit code is 1 where anything was let through, refused by mistake, or broke.
    """
    with plain_errors():
        from toolgate_langchain.cli.redteam import run_red_team

        code = run_red_team(gate, host or [])
    raise typer.Exit(code)


app.command()(inbox)
app.command()(record)
app.command()(replay)
app.add_typer(rules, name="rules")


def split_answers(text: str) -> list[str]:
    """The answers of one option: `approve,reject:no, not this one,always` are three."""
    return [word.strip() for word in _BETWEEN_ANSWERS.split(text)]


def _words(answers: str | None) -> list[str] | None:
    return None if answers is None else split_answers(answers)
