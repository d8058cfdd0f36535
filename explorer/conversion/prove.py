"""The truth about a converted model: Core ML itself on every compute unit of a Mac, and where it would run each operator.

Written after the sources of coremltools 9 and tested with recorded names; it has never run on a Mac.
"""

import json
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from explorer.conversion.proof import Judged
from explorer.conversion.proof_file import write_proof
from explorer.conversion.prove_elsewhere import NEEDS_A_MAC, TRUTH_FILE, can_prove, mac_line
from explorer.conversion.prove_source import ToProve, proof_for, to_prove
from explorer.conversion.prove_units import UNITS, Outcome, child_command, run_unit, unit_run
from explorer.errors import ExplorerError
from explorer.files import written_by_rename
from explorer.inference.coreml.program import load_program
from explorer.reporter import Reporter
from explorer.schemas.convert_result import ProveResult
from explorer.schemas.convert_spec import ProveSpec

NEURAL_ENGINE = "Neural Engine"
Plans = dict[str, list[Any]]


def run(spec: ProveSpec, report: Reporter) -> ProveResult:
    """Run the package on each compute unit in a process of its own; what breaks there is that unit's problem.

    The result lies as `prove.json` in this job and in the job that made the package. Raises `ExplorerError` where there is no
    Core ML, with the line to run on a Mac.
    """
    found = to_prove(spec.source)
    if not can_prove():
        raise ExplorerError(NEEDS_A_MAC, f"on a Mac run: {mac_line(found.job)}")
    result, plans = _proven(spec, found, report)
    text = truth_text(result, plans)
    with report.artifact(TRUTH_FILE) as path:
        path.write_text(text)
    if found.artifacts is not None:
        with written_by_rename(found.artifacts / TRUTH_FILE) as path:
            path.write_text(text)
    return result


def _proven(spec: ProveSpec, found: ToProve, report: Reporter) -> tuple[ProveResult, Plans]:
    program = load_program(found.package)
    proof = proof_for(found, program)
    mode: Judged = "float16" if program.declares_half else "float32"
    units, plans = [], {}
    with tempfile.TemporaryDirectory() as folder:
        stored = Path(folder) / "proof.npz"
        write_proof(stored, proof)
        for done, name in enumerate(UNITS):
            report.progress(done, len(UNITS), f"running on {name}", "compute units")
            out = Path(folder) / f"{name}.npz"
            outcome = run_unit(child_command(found.package, stored, name, out), out, spec.time_limit_s, report.control)
            units.append(unit_run(name, outcome, proof, mode))
            plans[name] = _plan(outcome, name, report)
    report.progress(len(UNITS), len(UNITS), "done", "compute units")
    return ProveResult(source=spec.source, machine=machine(), system=f"macOS {platform.mac_ver()[0]}", units=units), plans


def _plan(outcome: Outcome, name: str, report: Reporter) -> list[Any]:
    """The operators with their devices; what keeps away from the Neural Engine is said."""
    operators = list(outcome.said.get("operators", []))
    if outcome.problem:
        report.finding("warning", f"{name}: {outcome.problem}")
    away = [f"{item['output']} ({item['operator']}, {item['device']})" for item in operators if item["device"] != NEURAL_ENGINE]
    if name in ("all", "cpu_and_ne") and away:
        report.log(f"{name}: {len(away)} of {len(operators)} operators prefer another device, first {', '.join(away[:5])}")
    return operators


def truth_text(result: ProveResult, plans: Mapping[str, list[Any]]) -> str:
    """The result as JSON, with the device of every operator by compute units under `operators`."""
    return json.dumps({**result.model_dump(mode="json"), "operators": dict(plans)}, indent=1)


def machine() -> str:
    """This Mac's chip, such as Apple M4 Max."""
    try:
        asked = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, timeout=5, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return platform.machine()
    return asked.stdout.strip() or platform.machine()
