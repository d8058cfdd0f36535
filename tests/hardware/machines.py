"""What each recorded machine is, worked out from its raw text by hand.

Tiers are `(name, cores, threads, L1d bytes, L2 bytes, top MHz)`. None as a reading's value means that the text does not tell.
"""

from typing import Any

K, M, G = 1 << 10, 1 << 20, 1 << 30
BIG, SMALL = (128 * K, 16 * M), (64 * K, 4 * M)  # caches of Apple's larger and smaller cores in a Max
ARM_2016 = ["NEON", "FP16", "DotProd"]
M1_LINUX = ["NEON", "FP16", "FHM", "DotProd"]
M3_ON = [*M1_LINUX, "I8MM", "BF16"]
ZEN = ["FMA", "F16C", "AVX", "AVX2"]
SERVER = [*ZEN, "AVX-512", "AVX512-VNNI", "AVX512-BF16"]
POD, DOCKER = "control group container-cgroup2-48of96cpu-96gib", "control group /sys/fs/cgroup/cpu,cpuacct"


def nvidia(name: str, mib: int, driver: str, mig: bool | None = None, mig_devices: int = 0) -> dict[str, Any]:
    return {"vendor": "NVIDIA", "name": name, "memory_bytes": mib * M, "driver": driver, "mig": mig, "mig_devices": mig_devices}


def one_cpu(core: str, isa: list[str], chip: str = "") -> dict[str, Any]:
    """An excerpt with one Arm CPU: what kind it is, and not how many there are."""
    tiers = [(core, None, None, None, None, None)]
    return {"chip.name": chip or core, "cpu.tiers": tiers, "cpu.logical": None, "cpu.cores": None, "cpu.isa": isa}


def one_package(chip: str, cores: int, threads: int, isa: list[str]) -> dict[str, Any]:
    """An excerpt with one x86 CPU, which counts its package."""
    tiers = [("All cores", cores, threads, None, None, None)]
    return {"chip.name": chip, "cpu.tiers": tiers, "cpu.logical": threads, "cpu.isa": isa, "machine.virtual": False}


MACS: dict[str, dict[str, Any]] = {
    "mac-m1-bigsur": {
        "chip.name": "Apple M1",
        "machine.model": "MacBookAir10,1",
        "cpu.tiers": [("Performance", 4, 4, None, None, None), ("Efficiency", 4, 4, None, None, None)],
        "cpu.logical": 8,
        "cpu.isa": ["NEON", "FP16", "FHM", "AMX"],
        "memory.total_bytes": 16 * G,
        "memory.type": "LPDDR4",
        "gpu": [{"name": "Apple M1", "vendor": "Apple", "cores": 8, "metal": "Metal family Apple 7"}],
    },
    "mac-m1-air-monterey": {
        "chip.name": "Apple M1",
        "machine.model": "MacBookAir10,1",
        "cpu.tiers": [("Performance", 4, 4, None, None, None), ("Efficiency", 4, 4, None, None, None)],
        "process.rosetta": True,
        "process.machine": "x86_64",
        "memory.total_bytes": 16 * G,
        "gpu": None,
    },
    "mac-m1pro-monterey": {
        "chip.name": "Apple M1 Pro",
        "cpu.tiers": [("Performance", 6, 6, 128 * K, 12 * M, None), ("Efficiency", 2, 2, 64 * K, 4 * M, None)],
        "cpu.isa": M1_LINUX,
        "memory.total_bytes": 16 * G,
        "memory.bandwidth": 200,
        "process.rosetta": False,
        "gpu": [{"name": "Apple M1 Pro", "vendor": "Apple", "cores": 14, "metal": "Metal family Apple 7"}],
    },
    "mac-m3max-sequoia": {
        "chip.name": "Apple M3 Max",
        "cpu.tiers": [("Performance", 10, 10, *BIG, None), ("Efficiency", 4, 4, *SMALL, None)],
        "cpu.isa": M3_ON,
        "memory.total_bytes": 36 * G,
        "memory.bandwidth": None,
    },
    "mac-m4max-sequoia": {
        "chip.name": "Apple M4 Max",
        "machine.model": "Mac16,5",
        "cpu.tiers": [("Performance", 12, 12, *BIG, None), ("Efficiency", 4, 4, *SMALL, None)],
        "cpu.logical": 16,
        "cpu.isa": [*M3_ON, "SME", "SME2"],
        "memory.total_bytes": 64 * G,
    },
    "mac-m5-macos26": {
        "chip.name": "Apple M5",
        "machine.model": "Mac17,2",
        "cpu.tiers": [("Super", 4, 4, None, None, None), ("Efficiency", 6, 6, None, None, None)],
        "memory.total_bytes": 24 * G,
        "memory.type": "LPDDR5",
        "gpu": [{"name": "Apple M5", "vendor": "Apple", "cores": 10, "metal": "Metal 4"}],
        "ane.generation": "H17",
    },
    "mac-m5max-macos26": {
        "chip.name": "Apple M5 Max",
        "machine.model": "Mac17,6",
        "cpu.tiers": [("Super", 6, 6, *BIG, None), ("Performance", 12, 12, 64 * K, 8 * M, None)],
        "cpu.logical": 18,
        "memory.total_bytes": 128 * G,
    },
    "mac-vm-github-macos26": {
        "chip.name": "Apple M1 (Virtual)",
        "os.name": "macOS 26.6.2",
        "os.build": "25G83",
        "machine.virtual": True,
        "process.machine": "arm64",
        "cpu.tiers": [("Standard", 3, 3, None, None, None)],
        "memory.total_bytes": 7 * G,
        "ane.cores": None,
    },
    "mac-intel-github-macos15": {
        "chip.name": "Intel(R) Core(TM) i7-8700B CPU @ 3.20GHz",
        "os.name": "macOS 15.7.9",
        "machine.virtual": True,
        "process.machine": "x86_64",
        "process.rosetta": False,
        "cpu.tiers": [("Standard", 4, 4, None, None, None)],
        "memory.total_bytes": 14 * G,
        "gpu": [{"name": "Apple Paravirtualized Graphics Device", "cores": None, "memory_bytes": 64 * M, "metal": "Metal 2"}],
        "ane.cores": None,
    },
    "mac-m1-macbookpro-powermetrics": {
        "machine.model": "MacBookPro17,1",
        "os.build": "22E252",
        "cpu.tiers": [("Performance", 4, 4, None, None, 3204), ("Efficiency", 4, 4, None, None, 2064)],
        "gpu": [{"name": "Apple GPU", "max_mhz": 1278, "cores": None}],
        "memory.total_bytes": None,
    },
    "mac-m5pro-or-max-powermetrics": {
        "cpu.tiers": [("CPUs 8-11", 4, 4, None, None, 4380)],
        "cpu.logical": None,
        "chip.name": None,
        "gpu": None,
    },
    "mac-m2max-ioreport": {
        "chip.name": "Apple M2 Max",
        "machine.model": "Mac14,6",
        "os.name": "macOS 13.6",
        "cpu.tiers": [("Performance", 8, 8, None, None, 3696), ("Efficiency", 4, 4, None, None, 2424)],
        "gpu": [{"name": "Apple M2 Max", "cores": None, "max_mhz": 1398}],
        "memory.bandwidth": 400,
    },
    "mac-m2ultra-ioreport": {
        "chip.name": "Apple M2 Ultra",
        "machine.model": "Mac14,14",
        "os.build": "24C101",
        "cpu.tiers": [("Performance", 16, 16, None, None, None), ("Efficiency", 8, 8, None, None, 2424)],
        "gpu": None,
        "ane.cores": 32,
    },
    "mac-macos27-ioreport": {"os.name": "macOS", "chip.name": None, "cpu.tiers": None, "cpu.logical": None, "gpu": None},
    "ane-device-identity": {
        "chip.name": "Apple M6",
        "os.name": "macOS 27.0.1",
        "os.build": "26A434",
        "ane.engines": 2,
        "ane.cores": 32,
        "ane.architecture": "h18g",
        "ane.generation": "H18",
        "ane.tops": None,
        "cpu.tiers": None,
    },
}
LINUX: dict[str, dict[str, Any]] = {
    "linux-graviton1": one_cpu("Cortex-A72", ["NEON"]),
    "linux-graviton2": {
        "chip.name": "Neoverse-N1",
        "process.machine": "aarch64",
        "cpu.tiers": [("Neoverse-N1", 32, 32, 64 * K, 1 * M, None)],
        "cpu.logical": 32,
        "cpu.limit": 32,
        "cpu.isa": ARM_2016,
        "cpu.numa_nodes": 1,
        "machine.virtual": None,
    },
    "linux-graviton3": one_cpu("Neoverse-V1", [*M3_ON, "SVE"]),
    "linux-neoverse-v2": one_cpu("Neoverse-V2", [*M3_ON, "SVE", "SVE2"]),
    "linux-asahi-m1": one_cpu("Icestorm", M1_LINUX, chip="Apple M1"),
    "linux-asahi-m2": one_cpu("Blizzard", M3_ON, chip="Apple M2"),
    "linux-asahi-m1pro": {
        "chip.name": None,
        "cpu.tiers": [("Performance", 8, 8, None, None, 3036), ("Efficiency", 2, 2, None, None, 2064)],
        "cpu.logical": 10,
        "cpu.cores": 10,
        "cpu.isa": M1_LINUX,
        "cpu.numa_nodes": None,
    },
    "linux-hetzner-neoverse-n1-kvm": {
        "chip.name": "Neoverse-N1",
        "cpu.tiers": [("Neoverse-N1", 2, 2, None, None, None)],
        "cpu.isa": ARM_2016,
        "cpu.numa_nodes": 1,
        "machine.virtual": None,
    },
    "linux-ampere-altra": {
        "chip.name": "Neoverse-N1",
        "cpu.tiers": [("Neoverse-N1", 96, 96, 64 * K, 1 * M, 2800)],
        "cpu.isa": ARM_2016,
        "cpu.numa_nodes": 1,
    },
    "linux-intel-core-ultra-185h": {
        "chip.name": "Intel(R) Core(TM) Ultra 9 185H",
        "cpu.tiers": [
            ("Performance", 6, 12, None, None, 5100),
            ("Efficiency", 8, 8, None, None, 3800),
            ("Low-power", 2, 2, None, None, 2500),
        ],
        "cpu.logical": 22,
        "cpu.cores": 16,
        "cpu.isa": [*ZEN, "AVX-VNNI"],
        "machine.virtual": False,
    },
    "linux-intel-arrowlake": one_package("Intel(R) Core(TM) Ultra 9 285", 24, 24, [*ZEN, "AVX-VNNI", "AVX-VNNI-INT8"]),
    "linux-intel-spr": one_package(
        "Intel(R) Xeon(R) Platinum 8480+",
        56,
        112,
        [*ZEN, "AVX-VNNI", *SERVER[4:], "AVX512-FP16", "AMX-TILE", "AMX-INT8", "AMX-BF16"],
    ),
    "linux-intel-64cpu-4numa": {
        "chip.name": "Intel(R) Xeon(R) CPU X7550 @ 2.00GHz",
        "cpu.tiers": [("All cores", 32, 64, 32 * K, 256 * K, 1996)],
        "cpu.logical": 64,
        "cpu.numa_nodes": 3,
        "cpu.isa": None,
    },
    "linux-amd-zen3": one_package("AMD Ryzen 9 5950X 16-Core Processor", 16, 32, ZEN),
    "linux-amd-zen4": one_package("AMD EPYC 9654 96-Core Processor", 96, 96, SERVER),
    "linux-amd-ryzen-ai-max-395": {
        "chip.name": "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S",
        "process.machine": "x86_64",
        "cpu.tiers": [("All cores", 16, 32, 48 * K, 1 * M, 5188)],
        "cpu.isa": [*ZEN, "AVX-VNNI", *SERVER[4:]],
        "cpu.numa_nodes": 1,
    },
    "linux-amd-epyc-7451": {
        "chip.name": "AMD EPYC 7451 24-Core Processor",
        "cpu.tiers": [("All cores", 48, 96, 32 * K, 512 * K, 2300)],
        "cpu.logical": 96,
        "cpu.cores": 48,
        "cpu.isa": ZEN,
        "cpu.numa_nodes": 8,
        "machine.virtual": False,
    },
    "linux-arm-a510-a710-a715-x3": {
        "chip.name": "Cortex-X3 + Cortex-A710 + Cortex-A715 + Cortex-A510",
        "cpu.tiers": [
            ("Cortex-X3", 1, 1, None, None, 3187),
            ("Cortex-A715", 2, 2, None, None, 2803),
            ("Cortex-A710", 2, 2, None, None, 2803),
            ("Cortex-A510", 3, 3, None, None, 2016),
        ],
        "cpu.logical": 8,
        "cpu.isa": M3_ON,
    },
    "linux-vm-on-apple-m1": {
        "chip.name": None,
        "cpu.tiers": [("All cores", 1, 1, None, None, None)],
        "cpu.isa": M1_LINUX,
        "cpu.numa_nodes": 1,
        "machine.virtual": None,
    },
    "linux-raspberrypi3": {
        "chip.name": "Cortex-A53",
        "machine.model": "Raspberry Pi 3 Model B Rev 1.2",
        "cpu.tiers": [("Cortex-A53", 4, 4, None, None, None)],
        "cpu.isa": ["NEON"],
    },
    "linux-raspberrypi4": {
        "chip.name": "Cortex-A72",
        "cpu.tiers": [("Cortex-A72", 4, 4, None, None, 1800)],
        "cpu.cores": 4,
        "cpu.isa": ["NEON"],
    },
    "linux-raspberrypi5": {
        "chip.name": "Cortex-A76",
        "cpu.tiers": [("Cortex-A76", 4, 4, None, None, 2400)],
        "cpu.isa": ARM_2016,
    },
    "linux-jetson-tx1": {
        "chip.name": "Cortex-A57",
        "machine.model": "jetson_tx1",
        "cpu.tiers": [("Cortex-A57", 4, 4, None, None, None)],
        "cpu.isa": ["NEON"],
    },
    "linux-meminfo-16g": {
        "memory.total_bytes": 15666184 * K,
        "memory.limit_bytes": 15666184 * K,
        "memory.available_bytes": None,
        "swap.total_bytes": 0,
        "cpu.tiers": None,
    },
    "container-cgroup2-48of96cpu-96gib": {
        "cpu.limit": 48,
        "memory.limit_bytes": 96 * G,
        "memory.available_bytes": 96 * G - (13071106048 - 2935459840),
        "memory.total_bytes": None,
        "cpu.logical": None,
    },
    "container-cgroup1-docker": {"cpu.limit": 6, "memory.limit_bytes": None, "cpu.logical": None},
}
NVIDIA: dict[str, dict[str, Any]] = {
    "nvidia-a100-sxm4-v12": {"gpu": [nvidia("NVIDIA A100-SXM4-80GB", 81920, "535.54.03", mig=True, mig_devices=4)]},
    "nvidia-a10g": {"gpu": [nvidia("NVIDIA A10G", 23028, "515.105.01")]},
    "nvidia-gtx-1660-ti": {"gpu": [nvidia("Graphics Device", 5912, "418.43")]},
    "nvidia-rtx-3080-v13": {"gpu": [nvidia("NVIDIA GeForce RTX 3080", 10240, "595.58.03")]},
    "nvidia-rtx-4000-sff-ada-v13": {"gpu": [nvidia("NVIDIA RTX 4000 SFF Ada Generation", 20475, "595.84")]},
}
EXPECTED = {**MACS, **LINUX, **NVIDIA}
SOURCES = {
    ("container-cgroup2-48of96cpu-96gib", "cpu.limit"): POD,
    ("container-cgroup2-48of96cpu-96gib", "memory.limit_bytes"): POD,
    ("container-cgroup1-docker", "cpu.limit"): DOCKER,
    ("linux-meminfo-16g", "memory.limit_bytes"): "/proc/meminfo",
    ("linux-graviton2", "cpu.tiers"): "lscpu",
    ("linux-intel-core-ultra-185h", "cpu.tiers"): "sbc-bench's table",
    ("mac-m1-bigsur", "cpu.tiers"): "system_profiler",
    ("mac-m4max-sequoia", "machine.model"): "system_profiler",
    ("ane-device-identity", "ane.cores"): "a table of ioreg's values",
    ("nvidia-a10g", "gpu"): "nvidia-smi -q -x",
}
