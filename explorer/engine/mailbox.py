"""Two ways to wake a slow reader without ever waiting for it."""

import asyncio
from typing import Generic, TypeVar

T = TypeVar("T")


class Doorbell:
    """Wakes everybody who waits; says only that there is news, since the news itself is in a file."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ring(self) -> None:
        self._event.set()
        self._event = asyncio.Event()

    def ticket(self) -> asyncio.Event:
        """Set at the next ring. Take it before looking, so that no ring is missed."""
        return self._event


class Mailbox(Generic[T]):
    """The latest value by key, for one reader: as many entries as there are keys, however long nobody reads."""

    def __init__(self) -> None:
        self._items: dict[str, T] = {}
        self._filled = asyncio.Event()

    def put(self, key: str, item: T) -> None:
        self._items.pop(key, None)
        self._items[key] = item
        self._filled.set()

    async def take_all(self) -> list[T]:
        """Everything there is, oldest change first; waits for the first entry."""
        await self._filled.wait()
        items, self._items = list(self._items.values()), {}
        self._filled.clear()
        return items
