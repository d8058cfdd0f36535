"""The gate for pickles: names that are known to be harmless. Every other name counts as code.

PLAIN is what `torch.load(weights_only=True)` allows by itself (torch/_weights_only_unpickler.py).
HARMLESS makes plain values, but torch refuses it until `torch.serialization.safe_globals` allows it.
"""

import re

from explorer.models.stubs import MAKERS, STORAGES

_DTYPES = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float4_e2m1fn_x2", "int64", "int32", "int16", "int8", "bool", "complex32", "complex64", "complex128",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)), "uint8", "uint16", "uint32", "uint64",
    "qint8", "quint8", "qint32", "quint4x2", "quint2x4", "bits8", "bits16", "bits1x8", "bits2x4", "bits4x2",
)  # fmt: skip
_SCHEMES = (
    "per_tensor_affine", "per_channel_affine", "per_tensor_symmetric", "per_channel_symmetric",
    "per_channel_affine_float_qparams",
)  # fmt: skip
_KINDS = ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
_REBUILDERS = (
    "device_tensor_from_cpu_tensor", "device_tensor_from_numpy", "meta_tensor_no_storage", "nested_tensor", "parameter",
    "parameter_with_state", "qtensor", "sparse_tensor", "tensor", "tensor_v2", "tensor_v3", "wrapper_subclass",
)  # fmt: skip

PLAIN = frozenset(
    {
        *MAKERS,
        *(f"torch.{name}" for name in (*STORAGES, *_DTYPES, *_SCHEMES, "Size", "device", "strided", "Tensor")),
        *(f"torch{place}.{kind}Tensor" for place in ("", ".cuda", ".sparse", ".cuda.sparse") for kind in _KINDS),
        *(f"torch{place}.BoolTensor" for place in ("", ".cuda")),
        *(f"torch.cuda.{kind}Storage" for kind in (*_KINDS, "Bool", "ComplexDouble", "ComplexFloat")),
        *(f"torch._utils._rebuild_{name}" for name in _REBUILDERS),
        *(f"torch.storage.{name}" for name in ("UntypedStorage", "TypedStorage", "_LegacyStorage")),
        "torch._tensor._rebuild_from_type_v2", "torch.nn.parameter.Parameter", "torch.serialization._get_layout",
        "builtins.bytearray", "builtins.complex", "__builtin__.bytearray", "__builtin__.complex",
        "collections.Counter",
    }
)  # fmt: skip

HARMLESS = frozenset(
    {
        *(f"numpy.{core}.multiarray.{name}" for core in ("core", "_core") for name in ("scalar", "_reconstruct")),
        "numpy.dtype", "numpy.ndarray", "argparse.Namespace", "types.SimpleNamespace", "collections.defaultdict",
        *(f"{builtins}.{name}" for builtins in ("builtins", "__builtin__")
          for name in ("dict", "list", "tuple", "frozenset", "int", "float", "str", "bool", "bytes", "slice", "range")),
        "__builtin__.xrange",
        *(f"{module}.{name}" for module in ("pathlib", "pathlib._local")  # where Python 3.13 has them
          for name in ("Path", "PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")),
        "datetime.datetime", "datetime.date", "datetime.timedelta",
    }
)  # fmt: skip
NUMPY_DTYPE = re.compile(r"numpy\.dtypes\.[A-Z]\w*DType")

# What an attack needs. Only for the wording of a finding: every name outside the lists already counts as code.
DANGEROUS = re.compile(
    r"^(os|posix|nt|subprocess|sys|shutil|socket|importlib|runpy|pty|ctypes|code|pickle|webbrowser|asyncio|multiprocessing|"
    r"operator|functools|marshal|pip|urllib|http|tempfile|signal|threading|bdb|pdb|timeit|cProfile|profile|trace)\b"
    r"|^(builtins|__builtin__)\.(eval|exec|compile|open|getattr|setattr|__import__|breakpoint|input|globals|apply|execfile)$"
)


def is_plain(name: str) -> bool:
    """Whether `torch.load(weights_only=True)` allows the name."""
    return name in PLAIN


def is_harmless(name: str) -> bool:
    """Whether the name makes a plain value, though torch asks before it allows it."""
    return name in HARMLESS or NUMPY_DTYPE.fullmatch(name) is not None


def unknown_names(names: list[str]) -> list[str]:
    """Those of `names` that no list knows: loading them would import and call code."""
    return [name for name in names if not is_plain(name) and not is_harmless(name)]
