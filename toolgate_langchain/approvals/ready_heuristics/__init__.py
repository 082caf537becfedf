"""Ready heuristics: small functions that may approve one call. None is on unless an operator lists it.

Each says in its docstring what it does not protect from. A yes of a heuristic never lifts a deny, an argument
policy that wants a person to see the call, or a warning.
"""

from toolgate_langchain.approvals.ready_heuristics.approved_before import ApprovedBefore
from toolgate_langchain.approvals.ready_heuristics.argument_values import ArgumentEquals, ArgumentInRange
from toolgate_langchain.approvals.ready_heuristics.given_by_person import GivenByPerson
from toolgate_langchain.approvals.ready_heuristics.host_in import HostIn
from toolgate_langchain.approvals.ready_heuristics.path_inside import PathInside
from toolgate_langchain.approvals.ready_heuristics.read_only_sql import ReadOnlySql
from toolgate_langchain.approvals.ready_heuristics.shell_commands import AllowedCommand, ShellCommands

__all__ = [
    "AllowedCommand",
    "ApprovedBefore",
    "ArgumentEquals",
    "ArgumentInRange",
    "GivenByPerson",
    "HostIn",
    "PathInside",
    "ReadOnlySql",
    "ShellCommands",
]
