"""What the user asks of a running training, looked for at every boundary between steps or batches of validation."""

import time

from explorer.reporter import NO_ORDERS, Orders, Reporter
from explorer.training.parallel import Group

# Asking looks at a file, which costs 2 % of a millisecond's step; nobody notices a twentieth of a second.
CONTROL_INTERVAL_S = 0.05


class Steering:
    """Asks for orders, at most each twentieth of a second where one process trains, each time where several must do so together.

    Orders wait in `pending` until `take`. `agreed` is True once a `Cancelled` came to every rank at the same boundary.
    """

    def __init__(self, report: Reporter, group: Group) -> None:
        self._report = report
        self._group = group
        self.next_s = 0.0
        self.pending = NO_ORDERS
        self.agreed = False

    def ask(self) -> float:
        """Look for orders when it is time to; gives the seconds that this took, which may have been a pause."""
        now = time.perf_counter()
        if now < self.next_s:
            return 0.0
        try:
            self.pending = self.pending.then(self._group.control(self._report))
        except BaseException:
            self.agreed = True
            raise
        after = time.perf_counter()
        self.next_s = after + CONTROL_INTERVAL_S if self._group.size == 1 else 0.0
        return after - now

    def take(self) -> Orders:
        """What came in since the last call."""
        orders, self.pending = self.pending, NO_ORDERS
        return orders
