"""How far what a tool is given can travel: the scope that its profile declares."""

from __future__ import annotations

from typing import Literal, TypeAlias

__all__ = ["EgressScope"]

EgressScope: TypeAlias = Literal["none", "own_site", "configured", "open"]
"""Where a call can send what it is given, the narrowest first:

- `"none"`: nowhere.
- `"own_site"`: only to the sites that are the operator's own.
- `"configured"`: only to what the operator configured: a storage backend, a database, a model, a server.
- `"open"`: wherever its arguments say.
"""
