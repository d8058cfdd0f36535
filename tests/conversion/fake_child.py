"""Stands for `prove_child`: `all` answers as a Mac would, `cpu_only` and `cpu_and_gpu` break, `cpu_and_ne` is killed."""

import os
import signal
import sys


def main(package: str, proof: str, units: str, out: str) -> int:
    if units == "cpu_and_ne":
        os.kill(os.getpid(), signal.SIGKILL)
    if units == "cpu_and_gpu":
        raise RuntimeError("Error in declaring network.")
    if units == "cpu_only":
        return 7
    from explorer.conversion import prove_child
    from tests.conversion.fake_core_ml import fake_coremltools

    prove_child.coremltools = fake_coremltools  # type: ignore[attr-defined]
    return prove_child.main([package, proof, units, out])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
