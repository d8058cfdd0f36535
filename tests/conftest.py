"""What every test needs: a terminal environment that changes no snapshot."""

import os

for name in ("NO_COLOR", "TEXTUAL_THEME", "FORCE_COLOR"):
    os.environ.pop(name, None)
