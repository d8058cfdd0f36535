"""The proof of a conversion: its outputs against the source's, with tolerances that can fail the job."""

from pathlib import Path

from explorer.conversion.inputs import ProofInputs
from explorer.inference.compare import Tolerance, compare
from explorer.inference.coreml.evaluate import evaluate_samples, first_difference
from explorer.inference.coreml.program import load_program
from explorer.inference.onnx_runtime import run_onnx
from explorer.schemas.results import Check

ONNX_RUNTIME = "ONNX Runtime"
REFERENCE = "Core ML reference evaluator"
EXACT = Tolerance(max_abs_error=1e-5)
HALF_CLASSES = Tolerance(min_agreement=0.995)
HALF_VALUES = Tolerance(min_snr_db=30.0)


def onnx_check(path: Path, proof: ProofInputs) -> Check:
    """The ONNX file in ONNX Runtime against torch."""
    inputs, expected = proof.exact()
    return compare(expected, run_onnx(path, inputs), runtime=ONNX_RUNTIME, mode="float32", tolerance=EXACT, classes=proof.classes)


def coreml_float32_check(path: Path, proof: ProofInputs) -> Check:
    """A package computed in float32 throughout against torch: is the graph right?"""
    inputs, expected = proof.exact()
    got = evaluate_samples(path, inputs, "float32").output
    return compare(expected, got, runtime=REFERENCE, mode="float32", tolerance=EXACT, classes=proof.classes)


def coreml_float16_check(path: Path, proof: ProofInputs) -> Check:
    """A package with every declared half rounded against torch: does the precision hold? Names the operation that breaks."""
    program = load_program(path)
    half = evaluate_samples(program, proof.inputs, "float16")
    tolerance = HALF_CLASSES if proof.classes else HALF_VALUES
    check = compare(proof.expected, half.output, runtime=REFERENCE, mode="float16", tolerance=tolerance, classes=proof.classes)
    broken = first_difference(half, evaluate_samples(program, proof.inputs, "float32"))
    return check.model_copy(update={"first_difference": broken}) if broken else check


def summary(check: Check) -> str:
    """One line about a check."""
    agreement = "" if check.agreement is None else f", same class on {check.agreement:.2%}"
    verdict = "passed" if check.passed else "FAILED"
    numbers = f"max error {check.max_abs_error:.3g}, SNR {check.snr_db:.1f} dB{agreement}"
    return f"{check.runtime} {check.mode}, {check.samples} samples: {numbers} ({check.tolerance}): {verdict}"
