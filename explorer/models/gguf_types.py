"""How ggml packs numbers: the type's id, its name, the elements of a block and the bytes of a block.

Ids: ggml/include/ggml.h; block sizes: the static asserts of ggml/src/ggml-common.h, both at https://github.com/ggml-org/llama.cpp
"""

from typing import NamedTuple


class Block(NamedTuple):
    """Numbers are stored in blocks that share their scales."""

    name: str
    elements: int
    bytes: int


PLAIN = {
    0: Block("float32", 1, 4), 1: Block("float16", 1, 2), 24: Block("int8", 1, 1), 25: Block("int16", 1, 2),
    26: Block("int32", 1, 4), 27: Block("int64", 1, 8), 28: Block("float64", 1, 8), 30: Block("bfloat16", 1, 2),
}  # fmt: skip
QUANTIZED = {
    2: Block("q4_0", 32, 18), 3: Block("q4_1", 32, 20), 6: Block("q5_0", 32, 22), 7: Block("q5_1", 32, 24),
    8: Block("q8_0", 32, 34), 9: Block("q8_1", 32, 36), 10: Block("q2_K", 256, 84), 11: Block("q3_K", 256, 110),
    12: Block("q4_K", 256, 144), 13: Block("q5_K", 256, 176), 14: Block("q6_K", 256, 210), 15: Block("q8_K", 256, 292),
    16: Block("iq2_xxs", 256, 66), 17: Block("iq2_xs", 256, 74), 18: Block("iq3_xxs", 256, 98), 19: Block("iq1_s", 256, 50),
    20: Block("iq4_nl", 32, 18), 21: Block("iq3_s", 256, 110), 22: Block("iq2_s", 256, 82), 23: Block("iq4_xs", 256, 136),
    29: Block("iq1_m", 256, 56), 34: Block("tq1_0", 256, 54), 35: Block("tq2_0", 256, 66), 39: Block("mxfp4", 32, 17),
    40: Block("nvfp4", 64, 36),
}  # fmt: skip
BLOCKS = PLAIN | QUANTIZED
QUANTIZED_NAMES = frozenset(block.name for block in QUANTIZED.values())
