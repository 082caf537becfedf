"""The one object that a path names, looked up once: links followed, `..` gone, written as its folder has it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["MAX_PATH", "path_inside", "relative_name"]

MAX_PATH: Final = 4_096
"""Characters of a path; what Linux takes in one call (`PATH_MAX`)."""


def path_inside(root: Path, written: str) -> Path | None:
    """The object that a path names, if that lies in the root or is the root; else `None`.

    Also `None` for what different programs read differently: an empty path, a NUL or another control character, blanks
    at an end, a leading `~`, a backslash (which parts folders on Windows), a part that ends in a dot or a blank (which
    Windows leaves out), the name of a stream of NTFS, or links that lead in a circle.

    Args:
        root: A folder, resolved (`Path.resolve(strict=True)`).
        written: An absolute path, or one from the root. The object need not be there; then it is what it would be.
    """
    if not written or len(written) > MAX_PATH or written.startswith("~") or not written.isprintable():
        return None
    if "\\" in written or written != written.strip() or not all(map(_one_name, written.split("/"))):
        return None
    try:
        real = Path(os.path.realpath(root / written))
        if not real.is_relative_to(root):
            return None
        return _as_listed(root, real)
    except (OSError, ValueError, RuntimeError):
        return None


def relative_name(root: Path, path: Path) -> str:
    """The name of an object below a root: its parts with `/` between them; `.` for the root itself.

    Args:
        root: The root.
        path: What `path_inside` gave for it.
    """
    return path.relative_to(root).as_posix()


def _one_name(part: str) -> bool:
    """Whether a part of a path is one name to everybody: `key.txt. ` and `key.txt::$DATA` are `key.txt` to Windows."""
    return part in ("", ".", "..") or not (part.endswith((".", " ")) or "::" in part or ":$" in part)


def _as_listed(root: Path, real: Path) -> Path:
    """The path with each part written as its folder lists it, where the file system takes other writings too."""
    found = root
    for part in real.relative_to(root).parts:
        child = found / part
        if child.is_symlink():
            raise OSError("a link that could not be followed: it leads back to itself")
        found = child if not os.path.lexists(child) else found / _listed_name(found, part)
    return found


def _listed_name(folder: Path, part: str) -> str:
    names = [child.name for child in folder.iterdir()]
    if part in names:
        return part
    wanted = os.lstat(folder / part)
    same = [name for name in names if os.path.samestat(wanted, os.lstat(folder / name))]
    return same[0] if len(same) == 1 else part
