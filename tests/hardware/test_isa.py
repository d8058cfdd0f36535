"""Instruction sets under one set of names, and what each is good for."""

from explorer.hardware import isa


def test_every_name_has_one_line_on_what_it_speeds_up() -> None:
    names = {*isa.LINUX_FLAGS.values(), *isa.MACOS_KEYS.values()}
    rows = isa.uses(names)
    assert {row["name"] for row in rows} == names == set(isa.SPEEDS_UP)
    assert all(10 < len(row["speeds_up"]) < 80 and "\n" not in row["speeds_up"] for row in rows)
    assert len({row["speeds_up"] for row in rows}) == len(names)


def test_uses_keep_the_order_and_pass_over_unknown_names() -> None:
    assert [row["name"] for row in isa.uses(["SME2", "XYZ", "NEON"])] == ["SME2", "NEON"]
    assert isa.uses(["AVX512-VNNI"]) == [
        {"name": "AVX512-VNNI", "speeds_up": "int8 products of quantized models, 512 bits at a time"}
    ]


def test_flags_of_a_granite_rapids_and_of_an_arm_server() -> None:
    intel = isa.of_linux(
        ["sse2", "avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_bf16", "avx512_fp16", "amx_tile", "amx_int8"]
    )
    assert intel == [
        *("AVX2", "AVX-VNNI", "AVX-512", "AVX512-VNNI", "AVX512-BF16", "AVX512-FP16"),
        *("AMX-TILE", "AMX-INT8", "AMX-BF16"),
    ]
    assert isa.of_linux(["asimd", "asimdhp", "asimdfhm", "asimddp", "sve", "sve2", "bf16"]) == [
        *("NEON", "FP16", "FHM", "DotProd", "BF16", "SVE", "SVE2"),
    ]


def test_keys_of_an_m1_and_of_an_intel_mac() -> None:
    m1 = {
        "hw.optional.neon": "1",
        "hw.optional.amx_version": "2",
        "hw.optional.armv8_2_fhm": "1",
        "hw.optional.arm.FEAT_SME": "0",
    }
    assert isa.of_macos(m1) == ["NEON", "FHM", "AMX"]
    assert isa.of_macos({"hw.optional.avx1_0": "1", "hw.optional.avx2_0": "1", "hw.optional.avx512f": "0"}) == ["AVX", "AVX2"]
