"""A console approver."""


class ConsoleApprover:
    """Asks in a terminal."""
