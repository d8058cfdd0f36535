"""What the screens' process never imports."""

import subprocess
import sys

HEAVY = ("torch", "numpy", "onnx", "onnxruntime", "coremltools", "explorer.models", "explorer.training", "explorer.hardware")
SCREENS = "app, actions, base, convert, dialogs, experiments, hardware, help, jobs, lab, models, train, widgets.spec_form"


def imported(modules: str, names: tuple[str, ...]) -> str:
    """Which of `names` a fresh process has imported after importing these screens."""
    code = f"import sys\n{modules}\nprint(*[name for name in {names!r} if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_no_screen_imports_a_numerical_library_or_a_domain_package() -> None:
    lines = "\n".join(f"import screens.{name.strip()}" for name in SCREENS.split(","))
    assert imported(lines, HEAVY) == ""


FIRST_FRAME = """
import asyncio
import sys

from screens.app import ExplorerApp


async def never():
    await asyncio.sleep(3600)


async def main():
    async with ExplorerApp(never).run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.5)
        print(*[name for name in ("pydantic", "explorer.schemas.specs", "explorer.engine.client") if name in sys.modules])


asyncio.run(main())
"""


def test_the_first_frame_needs_no_schemas() -> None:
    """As it is painted, before any engine answers: importing the screens is not all that a first frame does."""
    done = subprocess.run([sys.executable, "-c", FIRST_FRAME], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
