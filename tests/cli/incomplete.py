"""Needs a module that is not there."""

import nowhere_at_all  # type: ignore[import-not-found]

agent = nowhere_at_all
