"""`python -m explorer` is the same as `explorer`."""

import sys

from explorer.cli import main

sys.exit(main())
