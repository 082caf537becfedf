"""Graphs written by hand: the node that asks, and the tool node that enforces."""
