"""A real engine process that starts scripted workers: `python -m tests.engine.scripted_engine [IDLE_EXIT_S]`."""

import sys

from explorer.engine import service, supervisor
from explorer.engine.spawn import WorkerPool

if __name__ == "__main__":
    supervisor.TERM_AFTER_S, supervisor.KILL_AFTER_S = 0.5, 1.0
    service.WATCH_INTERVAL_S = 0.1
    idle_exit_s = float(sys.argv[1]) if len(sys.argv) > 1 else 600.0
    pool = WorkerPool(keep_warm=False, module="tests.engine.scripted_worker")
    sys.exit(service.run(slots=2, pool=pool, idle_exit_s=idle_exit_s))
