"""The model files opened last, newest first, kept in a small JSON file between sessions."""

from __future__ import annotations

import json
import os
from pathlib import Path

KEPT = 12


def recent_file() -> Path:
    """Where the list is kept: below `EXPLORER_HOME`, else the platform's user state folder."""
    import platformdirs

    override = os.environ.get("EXPLORER_HOME")
    home = Path(override).expanduser() if override else Path(platformdirs.user_state_dir("explorer"))
    return home / "recent.json"


def recent_sources() -> list[str]:
    """The sources opened last that are still there; empty when the list cannot be read."""
    try:
        found = json.loads(recent_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    named = [item for item in found if isinstance(item, str)] if isinstance(found, list) else []
    return [source for source in named if source.startswith("job:") or os.path.exists(source)]


def remember(source: str) -> None:
    """Put a source on top of the list. A list that cannot be written is not worth an error: the model is open."""
    from explorer.files import written_by_rename

    kept = [source, *(item for item in recent_sources() if item != source)][:KEPT]
    try:
        with written_by_rename(recent_file()) as path:
            path.write_text(json.dumps(kept, indent=1), encoding="utf-8")
    except OSError:
        return
