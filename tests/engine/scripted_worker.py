"""A real worker process whose capabilities are scripted and need no torch."""

import sys

from explorer.engine import worker

worker.CAPABILITIES.update({"train": "tests.engine.capabilities:train", "inspect": "tests.engine.capabilities:inspect"})

if __name__ == "__main__":
    sys.exit(worker.main(sys.argv[1:]))
