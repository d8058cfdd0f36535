"""Published facts of Apple chips that no system call tells. Data with a source per row; an unknown chip is simply not here."""

from dataclasses import dataclass

ENGINES = "hollance/neural-engine docs/supported-devices.md"
BANDWIDTHS = "kennss/SiliconScope Sources/SiliconScopeCore/Bottleneck.swift"
ENGINE_NAMES = "macrumors.com thread 2471322"
ENGINE_STUDY = "751K/Apple-Neural-Engine-Microarchitecture-Study-M6 data/03_compile/ane_names.txt"
M3_PRESS = "yuwew.com apple-m3-pro-unexpected-downgrade (18 TOPS; the first source says 15.8)"
M5_PRESS = "the-decoder.com (M5), mikeshouts.com apple-m5-pro-m5-max"


@dataclass(frozen=True)
class Chip:
    """`bandwidth_gb_s` maps the GPU's core count to the memory bandwidth; key 0 where all variants are alike."""

    name: str
    ane_cores: int
    ane_generation: str
    ane_tops: float | None
    bandwidth_gb_s: dict[int, int]
    source: str
    remark: str = ""

    def bandwidth(self, gpu_cores: int | None) -> int | None:
        """GB/s as published; None where variants differ and this one is not known."""
        return self.bandwidth_gb_s.get(0) or self.bandwidth_gb_s.get(gpu_cores or -1)


OLD = f"{ENGINES}; {BANDWIDTHS}; generation {ENGINE_NAMES}"
M3 = f"{M3_PRESS}; {BANDWIDTHS}; generation read on an M3 Pro as h15g"
M4_ON = f"{ENGINES}; {BANDWIDTHS}; generation {ENGINE_STUDY}"
# Apple counts these units in what it says of an M5's AI performance; the Neural Engine has none of them.
M5_REMARK = "the Neural Accelerators of an M5 are in the GPU cores, not in the Neural Engine"
CHIPS = (
    Chip("Apple M1", 16, "H13", 11, {0: 68}, OLD),
    Chip("Apple M1 Pro", 16, "H13", 11, {0: 200}, OLD),
    Chip("Apple M1 Max", 16, "H13", 11, {0: 400}, OLD),
    Chip("Apple M1 Ultra", 32, "H13", 22, {0: 800}, OLD),
    Chip("Apple M2", 16, "H14", 15.8, {0: 100}, OLD),
    Chip("Apple M2 Pro", 16, "H14", 15.8, {0: 200}, OLD),
    Chip("Apple M2 Max", 16, "H14", 15.8, {0: 400}, OLD),
    Chip("Apple M2 Ultra", 32, "H14", 31.6, {0: 800}, OLD),
    Chip("Apple M3", 16, "H15", 18, {0: 100}, M3),
    Chip("Apple M3 Pro", 16, "H15", 18, {0: 150}, M3),
    Chip("Apple M3 Max", 16, "H15", 18, {30: 300, 40: 400}, M3),
    Chip("Apple M3 Ultra", 32, "H15", 36, {0: 819}, f"{M3}; bandwidth apple.com Mac Studio"),
    Chip("Apple M4", 16, "H16", 38, {0: 120}, M4_ON),
    Chip("Apple M4 Pro", 16, "H16", 38, {0: 273}, M4_ON),
    Chip("Apple M4 Max", 16, "H16", 38, {32: 410, 40: 546}, M4_ON),
    Chip("Apple M5", 16, "H17", None, {0: 153}, f"{M4_ON}; bandwidth {M5_PRESS}", M5_REMARK),
    Chip("Apple M5 Pro", 16, "H17", None, {0: 307}, f"{M4_ON}; bandwidth {M5_PRESS}", M5_REMARK),
    Chip("Apple M5 Max", 16, "H17", None, {32: 460, 40: 614}, f"{M4_ON}; bandwidth {M5_PRESS}", M5_REMARK),
    Chip("Apple M6", 32, "H18", None, {}, ENGINE_STUDY),
    Chip("Apple A18 Pro", 16, "H17", 35, {}, f"{ENGINES}; generation {ENGINE_STUDY}"),
)
BY_NAME = {chip.name: chip for chip in CHIPS}
