"""`toolgate rules` lists what users let pass or forbade in all their conversations; `toolgate rules revoke` ends it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolgate_langchain.cli.errors import plain_errors
from toolgate_langchain.cli.ledgers import LedgerUrl, open_ledger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolgate_langchain.approvals.ledger import Maybe
    from toolgate_langchain.approvals.rules import StandingRule

__all__ = ["rules"]

rules = typer.Typer(
    help="List the standing rules that users have in all their conversations, or revoke one.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


@rules.callback()
def list_rules(
    context: typer.Context,
    ledger: LedgerUrl = "",
    caller: Annotated[str | None, typer.Option(metavar="ID", help="Only the rules of this user.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As a JSON array, one object a rule.")] = False,
) -> None:
    """List the standing rules that users have in all their conversations.

    What each covers, which answer made it, who gave that, and until when it holds. Rules of a single conversation are
    in its state; `ToolGate.rules(agent=..., config=...)` lists those.
    """
    if context.invoked_subcommand is not None:
        context.obj = ledger
        return
    _needs(ledger)
    with plain_errors(), open_ledger(ledger) as opened:
        found = _now(opened.user_rules(caller))
        at = datetime.now(UTC)
        if as_json:
            typer.echo(json.dumps([{**rule.to_json(), "expired": rule.expired(at)} for rule in found]))
        else:
            _write(found, at)


@rules.command("revoke")
def revoke_rule(
    context: typer.Context,
    request: Annotated[str, typer.Argument(metavar="ID", help="The rule's id, as `toolgate rules` shows it.")],
    ledger: LedgerUrl = "",
    by: Annotated[str | None, typer.Option("--as", metavar="NAME", help="Who revokes it, for the record.")] = None,
) -> None:
    """Revoke a standing rule: from the next decision of every worker on it does not hold.

    The exit code is 1 where no answer made such a rule.
    """
    url = ledger or context.obj or ""
    _needs(url)
    with plain_errors(), open_ledger(url) as opened:
        revoked = _now(opened.revoke(request, by=by))
    if not revoked:
        typer.echo(f"toolgate: no answer to a request {request!r} made a standing rule; nothing changed", err=True)
        raise typer.Exit(1)
    typer.echo(f"Rule {request} is revoked. The next such call is judged without it.")


def _needs(url: str) -> None:
    if not url:
        raise typer.BadParameter("say which ledger: --ledger URL, or the variable TOOLGATE_LEDGER")


def _now(value: Maybe[Any]) -> Any:
    """What a ledger gives where no event loop runs."""
    return value


def _write(found: Sequence[StandingRule], at: datetime) -> None:
    from toolgate_langchain.ui.rules import write_rule
    from toolgate_langchain.ui.screen import Screen, new_console

    screen = Screen(new_console("The command toolgate"))
    if not found:
        screen.write("No user has a rule that holds in all conversations.")
    for rule in found:
        write_rule(screen, rule, at)
