"""Graphs written by hand: the node that asks, and the tool node that enforces."""

from toolgate_langchain.errors import needs_installed

# Here once for all that is in this folder: each of its modules begins with one of the two.
needs_installed(__name__, "agents", "langchain", "langgraph")
