"""Instruction sets that decide how fast a CPU computes a network, under one set of names for every system."""

from collections.abc import Iterable, Mapping

# Linux /proc/cpuinfo flags (arch/x86/include/asm/cpufeatures.h) and Features (arch/arm64/kernel/cpuinfo.c). Mainline hides
# AVX-VNNI-INT8, AVX10, AMX-FP16 and AMX-COMPLEX from that file; vendors' kernels may not.
LINUX_FLAGS = {
    "fma": "FMA",
    "f16c": "F16C",
    "avx": "AVX",
    "avx2": "AVX2",
    "avx_vnni": "AVX-VNNI",
    "avx_vnni_int8": "AVX-VNNI-INT8",
    "avx512f": "AVX-512",
    "avx512_vnni": "AVX512-VNNI",
    "avx512_bf16": "AVX512-BF16",
    "avx512_fp16": "AVX512-FP16",
    "avx10": "AVX10",
    "amx_tile": "AMX-TILE",
    "amx_int8": "AMX-INT8",
    "amx_bf16": "AMX-BF16",
    "amx_fp16": "AMX-FP16",
    "amx_complex": "AMX-COMPLEX",
    "asimd": "NEON",
    "neon": "NEON",
    "asimdhp": "FP16",
    "asimdfhm": "FHM",
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
    "hw.optional.avx1_0": "AVX",
    "hw.optional.avx2_0": "AVX2",
    "hw.optional.avx512f": "AVX-512",
    "hw.optional.neon": "NEON",
    "hw.optional.AdvSIMD": "NEON",
    "hw.optional.arm.FEAT_FP16": "FP16",
    "hw.optional.neon_fp16": "FP16",
    "hw.optional.arm.FEAT_FHM": "FHM",
    "hw.optional.armv8_2_fhm": "FHM",
    "hw.optional.arm.FEAT_DotProd": "DotProd",
    "hw.optional.arm.FEAT_I8MM": "I8MM",
    "hw.optional.arm.FEAT_BF16": "BF16",
    "hw.optional.amx_version": "AMX",
    "hw.optional.arm.FEAT_SME": "SME",
    "hw.optional.arm.FEAT_SME2": "SME2",
}
# What each set adds over the ones before it: Intel SDM volume 1 chapter 5, Arm ARM A2, Apple's Accelerate.
SPEEDS_UP = {
    "FMA": "every float32 matrix product: a multiply and an add in one step",
    "F16C": "turning float16 weights into float32 and back",
    "AVX": "float32 arithmetic, 8 numbers at a time",
    "AVX2": "float32 and int8 arithmetic, 256 bits at a time",
    "AVX-VNNI": "int8 products of quantized models, 256 bits at a time",
    "AVX-VNNI-INT8": "int8 products where both sides are signed",
    "AVX-512": "float32 arithmetic, 16 numbers at a time",
    "AVX512-VNNI": "int8 products of quantized models, 512 bits at a time",
    "AVX512-BF16": "bfloat16 dot products, summed in float32",
    "AVX512-FP16": "float16 arithmetic, 32 numbers at a time",
    "AVX10": "what AVX-512 does, on every core of a chip",
    "AMX-TILE": "matrix products: the tile registers that AMX works on",
    "AMX-INT8": "int8 matrix products of quantized models, a tile at a time",
    "AMX-BF16": "bfloat16 matrix products, a tile at a time",
    "AMX-FP16": "float16 matrix products, a tile at a time",
    "AMX-COMPLEX": "matrix products of complex float16 numbers, as in signal models",
    "NEON": "float32 arithmetic, 4 numbers at a time",
    "FP16": "float16 arithmetic, 8 numbers at a time",
    "FHM": "float16 products summed in float32",
    "DotProd": "int8 products of quantized models, as dot products",
    "I8MM": "int8 matrix products of quantized models",
    "BF16": "bfloat16 dot and matrix products",
    "SVE": "float32 and float16 arithmetic in vectors as wide as the chip has",
    "SVE2": "integer arithmetic in vectors as wide as the chip has",
    "SME": "matrix products by outer products, in float32, bfloat16 and int8",
    "SME2": "larger matrix products, several SME vectors at a time",
    "AMX": "float32 matrix products in Accelerate (Apple's own unit, undocumented)",
}


def of_linux(flags: Iterable[str]) -> list[str]:
    """Names of the known flags, in the table's order."""
    present = set(flags)
    return list(dict.fromkeys(name for flag, name in LINUX_FLAGS.items() if flag in present))


def of_macos(values: Mapping[str, str]) -> list[str]:
    """Names of the `hw.optional` keys that are not 0."""
    return list(dict.fromkeys(name for key, name in MACOS_KEYS.items() if values.get(key, "0") not in ("0", "")))


def uses(names: Iterable[str]) -> list[dict[str, str]]:
    """`{name, speeds_up}` of the sets that this table tells about, in the order given."""
    return [{"name": name, "speeds_up": SPEEDS_UP[name]} for name in names if name in SPEEDS_UP]
