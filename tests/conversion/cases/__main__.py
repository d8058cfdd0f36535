"""Print the table: `python -m tests.conversion.cases [CASE ...]`."""

import sys

import torch

from tests.conversion.cases.architectures import ARCHITECTURES
from tests.conversion.cases.notes import NOTES
from tests.conversion.cases.reports import REPORTS
from tests.conversion.cases.table import judged, refusals, summary


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(names: list[str]) -> None:
    torch.set_num_threads(1)
    everything = []
    for title, cases in (("notes", NOTES), ("architectures", ARCHITECTURES), ("reports", REPORTS)):
        chosen = [case for case in cases if not names or case.name in names]
        if not chosen:
            continue
        rows = judged(chosen, say)
        everything += rows
        say(summary(title, rows))
    for line in refusals(everything):
        say(line)


if __name__ == "__main__":
    main(sys.argv[1:])
