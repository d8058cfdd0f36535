"""The README's pictures from a real engine: `explorer tour`, then `python -m tests.screens.screenshots`, in one home."""

import asyncio
from pathlib import Path

from textual.pilot import Pilot

from explorer.engine.client import connect
from explorer.schemas.specs import CeilingsSpec, TrainSpec
from screens.app import ExplorerApp

FOLDER = Path(__file__).resolve().parents[2] / ".screenshots"
SIZE = (120, 32)
# What is pressed on each screen before the picture, and how long the screen may gather data.
SCENES = {
    "hardware": (["1"], 12.0),
    "train": (["3"], 8.0),
    "models": (["2", "r", "down", "enter"], 3.0),
    "convert": (["4", "left"], 2.0),
    "lab": (["5"], 3.0),
    "experiments": (["6"], 2.0),
}


async def main() -> None:
    """Write one SVG a screen, with measured limits and a training running."""
    engine = await connect()
    measured = await engine.submit(CeilingsSpec(seconds=0.3))
    async for _ in engine.follow(measured.id):
        pass
    job = await engine.submit(TrainSpec(epochs=200, label_smoothing=0.1, threads=1))
    FOLDER.mkdir(exist_ok=True)
    app = ExplorerApp(connect)
    async with app.run_test(size=SIZE) as pilot:
        await asyncio.sleep(3)
        for name, (keys, wait_s) in SCENES.items():
            await _take(pilot, keys, wait_s, FOLDER / f"{name}.svg")
    await engine.control(job.id, "cancel")
    await engine.aclose()


async def _take(pilot: Pilot[None], keys: list[str], wait_s: float, path: Path) -> None:
    for key in keys:
        await pilot.press(key)
        await asyncio.sleep(0.5)
    await asyncio.sleep(wait_s)
    path.write_text(pilot.app.export_screenshot())  # noqa: ASYNC240


if __name__ == "__main__":
    asyncio.run(main())
