"""One hardware sampler for all clients; it sleeps when nobody looks."""

import asyncio

from explorer.engine.mailbox import Mailbox
from explorer.hardware.inventory import collect
from explorer.hardware.live import Sampler
from explorer.hardware.probe import probe
from explorer.schemas.readings import HardwareSample, Inventory, Reading

INTERVAL_S = 1.0


class HardwareFeed:
    """The inventory, read once and completed by a probe in a child, and live samples each second."""

    def __init__(self) -> None:
        self._collecting: asyncio.Task[Inventory] | None = None
        self._found: dict[str, Reading] = {}
        self._probing: asyncio.Task[None] | None = None
        self._sampling: asyncio.Task[None] | None = None
        self._watchers: set[Mailbox[HardwareSample]] = set()

    async def inventory(self) -> Inventory:
        """What is known now; the first call starts the probe that fills in what is pending."""
        if self._collecting is None:
            self._collecting = asyncio.create_task(asyncio.to_thread(collect))
            self._probing = asyncio.create_task(self._probe())
        collected = await asyncio.shield(self._collecting)
        return Inventory(readings={**collected.readings, **self._found})

    def watch(self) -> Mailbox[HardwareSample]:
        """A mailbox of live samples; give it back to `unwatch`."""
        mailbox: Mailbox[HardwareSample] = Mailbox()
        self._watchers.add(mailbox)
        if self._sampling is None:
            self._sampling = asyncio.create_task(self._sample())
        return mailbox

    def unwatch(self, mailbox: Mailbox[HardwareSample]) -> None:
        self._watchers.discard(mailbox)

    async def aclose(self) -> None:
        """Stop probing and sampling."""
        for task in (self._probing, self._sampling):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    async def _probe(self) -> None:
        self._found = await probe()

    async def _sample(self) -> None:
        try:
            sampler = await asyncio.to_thread(Sampler)
            await self._sample_by(sampler)
        finally:
            self._sampling = None

    async def _sample_by(self, sampler: Sampler) -> None:
        """A sample each second until nobody looks; a late one is not made up for, so gaps stay gaps."""
        loop = asyncio.get_running_loop()
        due_s = loop.time()
        while self._watchers:
            sample = await asyncio.to_thread(sampler.sample)
            for mailbox in self._watchers:
                mailbox.put("sample", sample)
            due_s = max(due_s + INTERVAL_S, loop.time())
            await asyncio.sleep(due_s - loop.time())
