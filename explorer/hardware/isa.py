"""Instruction sets that decide how fast a CPU computes a network, under one set of names for every system."""

from collections.abc import Iterable, Mapping

# Linux /proc/cpuinfo flags (arch/x86/include/asm/cpufeatures.h) and Features (arch/arm64/kernel/cpuinfo.c).
LINUX_FLAGS = {
    "fma": "FMA",
    "f16c": "F16C",
    "avx": "AVX",
    "avx2": "AVX2",
    "avx_vnni": "AVX-VNNI",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX512-VNNI",
    "avx512_bf16": "AVX512-BF16",
    "avx512_fp16": "AVX512-FP16",
    "amx_tile": "AMX-TILE",
    "amx_int8": "AMX-INT8",
    "amx_bf16": "AMX-BF16",
    "asimd": "NEON",
    "neon": "NEON",
    "asimdhp": "FP16",
    "asimddp": "DotProd",
    "i8mm": "I8MM",
    "bf16": "BF16",
    "sve": "SVE",
    "sve2": "SVE2",
    "sme": "SME",
    "sme2": "SME2",
}
# sysctl hw.optional of macOS, in the order shown; older releases use the second key of a pair.
MACOS_KEYS = {
    "hw.optional.avx2_0": "AVX2",
    "hw.optional.avx512f": "AVX-512",
    "hw.optional.neon": "NEON",
    "hw.optional.AdvSIMD": "NEON",
    "hw.optional.arm.FEAT_FP16": "FP16",
    "hw.optional.neon_fp16": "FP16",
    "hw.optional.arm.FEAT_DotProd": "DotProd",
    "hw.optional.arm.FEAT_I8MM": "I8MM",
    "hw.optional.arm.FEAT_BF16": "BF16",
    "hw.optional.amx_version": "AMX",
    "hw.optional.arm.FEAT_SME": "SME",
    "hw.optional.arm.FEAT_SME2": "SME2",
}


def of_linux(flags: Iterable[str]) -> list[str]:
    """Names of the known flags, in the table's order."""
    present = set(flags)
    return list(dict.fromkeys(name for flag, name in LINUX_FLAGS.items() if flag in present))


def of_macos(values: Mapping[str, str]) -> list[str]:
    """Names of the `hw.optional` keys that are not 0."""
    return list(dict.fromkeys(name for key, name in MACOS_KEYS.items() if values.get(key, "0") not in ("0", "")))
