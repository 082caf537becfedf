"""Agents inside of agents: what tools and graphs hold, whether a gate is in it, and how one is put there."""
