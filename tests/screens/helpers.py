"""Reading the screen, and waiting for it, as a person does."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from textual.app import App
from textual.pilot import Pilot

from screens.theme import OWN_VARIABLES

T = TypeVar("T")


class WidgetApp(App[T]):
    """An app for one widget alone, with the theme variables that our widgets name."""

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return OWN_VARIABLES


def screen_text(pilot: Pilot[Any]) -> str:
    """What stands on the screen, a row a line."""
    strips = pilot.app.screen._compositor.render_strips()
    return "\n".join(strip.text.rstrip() for strip in strips)


async def until(pilot: Pilot[Any], true: Callable[[], object], limit_s: float = 5.0) -> None:
    """Wait until `true` gives something true; the screen's text tells why it did not."""
    for _ in range(int(limit_s / 0.02)):
        await pilot.pause()
        if true():
            return
        await asyncio.sleep(0.02)
    raise AssertionError(f"waited {limit_s} s in vain on this screen:\n{screen_text(pilot)}")


async def until_shown(pilot: Pilot[Any], text: str) -> None:
    """Wait until a text stands on the screen."""
    await until(pilot, lambda: text in screen_text(pilot))


def showing(section: str, landmark: str, text: str, *keys: str) -> Callable[[Pilot[Any]], Awaitable[None]]:
    """Go to a section by its key, press keys once the landmark stands there, and wait for a text."""

    async def before(pilot: Pilot[Any]) -> None:
        await until(pilot, lambda: pilot.app.screen.query("#machine"))
        await pilot.press(section)
        await until_shown(pilot, landmark if keys else text)
        await pilot.press(*keys)
        await until_shown(pilot, text)
        await pilot.pause(0.3)

    return before
