"""The files of a recording, found by the beginning of their names."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from explorer.hardware.readers import Text


class Files:
    """Files as `{name: text}`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = dict(sorted(texts.items()))

    def names(self, prefix: str) -> list[str]:
        """File names that begin so, in their order."""
        return [name for name in self._texts if name.startswith(prefix)]

    def any_of(self, prefixes: Iterable[str]) -> bool:
        """Whether there is a file for one of these readers."""
        return any(self.names(prefix) for prefix in prefixes)

    def exact(self, names: Iterable[str]) -> dict[str, str]:
        """Files of exactly these names."""
        return {name: self._texts[name] for name in names if name in self._texts}

    def all(self, prefix: str) -> list[str]:
        """Texts of a reader's files."""
        return [self._texts[name] for name in self.names(prefix)]

    def joined(self, *prefixes: str, separator: str = "\n") -> Text:
        """Texts of all files of these readers, one after the other; without any, why not."""
        names = [name for prefix in prefixes for name in self.names(prefix)]
        return Text(separator.join(self._texts[name] for name in names), self._reason(names, prefixes))

    def first(self, prefix: str, tells: Callable[[str], Any]) -> Text:
        """The first file of a reader that `tells` something, else the first one."""
        names = self.names(prefix)
        chosen = next((name for name in names if tells(self._texts[name])), names[0] if names else "")
        return Text(self._texts.get(chosen, ""), self._reason([chosen] if chosen else [], (prefix,)))

    def _reason(self, names: list[str], prefixes: Iterable[str]) -> str:
        if not names:
            return f"this recording has no {' or '.join(f'{prefix}*' for prefix in prefixes)}"
        empty = not any(self._texts[name].strip() for name in names)
        return (
            f"{' and '.join(names)} {'is empty' if len(names) == 1 else 'are empty'}"
            if empty
            else f"{', '.join(names)}: not told"
        )
