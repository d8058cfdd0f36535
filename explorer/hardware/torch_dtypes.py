"""Dtypes that a small matrix product really ran in, device by device; for the child of `torch_facts` only."""

from importlib import import_module
from typing import Any

from explorer.hardware.answers import known, missing
from explorer.hardware.child import first_line
from explorer.schemas.readings import Reading

DTYPES = ("float64", "float32", "float16", "bfloat16", "int8")
SIDE = 32  # what torch._int_mm on CUDA asks for: over 16 rows, and a multiple of 8
MAX_REFUSAL_CHARS = 60


def cpu() -> dict[str, Reading]:
    """`dtypes.cpu`."""
    return {"dtypes.cpu": on(import_module("torch"), "cpu")}


def cuda() -> dict[str, Reading]:
    """`dtypes.cuda`, on NVIDIA and on ROCm."""
    torch = import_module("torch")
    return {"dtypes.cuda": on(torch, "cuda") if torch.cuda.is_available() else missing("torch sees no CUDA device", "torch")}


def xpu() -> dict[str, Reading]:
    """`dtypes.xpu`."""
    torch = import_module("torch")
    there = hasattr(torch, "xpu") and torch.xpu.is_available()
    return {"dtypes.xpu": on(torch, "xpu") if there else missing("torch sees no Intel GPU", "torch")}


def mps() -> dict[str, Reading]:
    """`dtypes.mps`; Metal has no float64."""
    torch = import_module("torch")
    there = torch.backends.mps.is_built() and torch.backends.mps.is_available()
    return {"dtypes.mps": on(torch, "mps") if there else missing("torch does not call MPS available", "torch")}


def on(torch: Any, device: str) -> Reading:
    """Names of the dtypes whose product had the right sum; the reason tells what became of the others."""
    refusals = {name: _refusal(torch, device, name) for name in DTYPES}
    names = [name for name, refusal in refusals.items() if not refusal]
    rest = "; ".join(f"no {name}: {refusal}" for name, refusal in refusals.items() if refusal)
    source = f"a {SIDE} x {SIDE} product on {device} by torch"
    return known(names, source, reason=rest) if names else missing(rest, source)


def _refusal(torch: Any, device: str, name: str) -> str:
    """What the product raises; empty when it gives SIDE in each of its SIDE x SIDE places."""
    try:
        matrix = torch.ones((SIDE, SIDE), dtype=getattr(torch, name), device=device)
        product = torch._int_mm(matrix, matrix) if name == "int8" else matrix @ matrix
        total = float(product.to(torch.float32).sum().item())
    except Exception as error:  # torch raises many kinds here
        return first_line(error)[:MAX_REFUSAL_CHARS]
    return "" if total == SIDE**3 else f"a sum of {total:g} instead of {SIDE**3}"
