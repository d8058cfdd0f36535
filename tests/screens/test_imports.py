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


def test_the_first_frame_needs_no_schemas() -> None:
    assert imported("import screens.app, screens.hardware", ("pydantic", "explorer.schemas.specs")) == ""
