"""The engine samples once for all who look, at a second's distance, and stops when nobody does."""

import asyncio
import time

import pytest

from explorer.engine import sampler
from explorer.engine.sampler import HardwareFeed
from explorer.schemas.readings import HardwareSample


class CountingSampler:
    """Counts samples; `made` counts samplers."""

    made = 0
    taken = 0

    def __init__(self) -> None:
        CountingSampler.made += 1

    def sample(self) -> HardwareSample:
        CountingSampler.taken += 1
        return HardwareSample(time_s=time.monotonic(), readings={})


@pytest.fixture(autouse=True)
def counting(monkeypatch: pytest.MonkeyPatch) -> None:
    CountingSampler.made = CountingSampler.taken = 0
    monkeypatch.setattr(sampler, "Sampler", CountingSampler)
    monkeypatch.setattr(sampler, "INTERVAL_S", 0.05)


async def test_two_clients_share_one_sampler_that_stops_with_the_last() -> None:
    feed = HardwareFeed()
    first, second = feed.watch(), feed.watch()
    sample = (await first.take_all())[0]
    assert sample.time_s == (await second.take_all())[0].time_s
    assert CountingSampler.made == 1
    feed.unwatch(first)
    await second.take_all()
    feed.unwatch(second)
    await asyncio.sleep(0.12)
    taken = CountingSampler.taken
    await asyncio.sleep(0.15)
    assert CountingSampler.taken == taken
    later = feed.watch()
    assert (await later.take_all())[0].time_s > sample.time_s
    assert CountingSampler.made == 2
    await feed.aclose()


async def test_a_late_sample_is_not_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = HardwareFeed()
    mailbox = feed.watch()
    await mailbox.take_all()
    time.sleep(0.3)  # noqa: ASYNC251 - the engine itself is busy
    taken = CountingSampler.taken
    await asyncio.sleep(0.12)
    assert CountingSampler.taken - taken <= 4
    await feed.aclose()


async def test_a_sampler_that_cannot_be_made_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def raises() -> None:
        raise RuntimeError("no such system")

    monkeypatch.setattr(sampler, "Sampler", raises)
    feed = HardwareFeed()
    feed.unwatch(feed.watch())
    task = feed._sampling
    assert task is not None
    with pytest.raises(RuntimeError, match="no such system"):
        await task
    monkeypatch.setattr(sampler, "Sampler", CountingSampler)
    mailbox = feed.watch()
    assert await mailbox.take_all()
    await feed.aclose()
