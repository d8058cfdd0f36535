"""A Linux machine, a container or its NVIDIA GPUs from recorded files."""

from explorer.hardware import cgroup, cpu_list, gpus, linux, lscpu, mps, nvidia, pci
from explorer.hardware.answers import found, known, missing
from explorer.hardware.neural_engine import NAMES as NEURAL_ENGINE_NAMES
from explorer.hardware.readers import Text
from explorer.hardware.recorded_files import Files
from explorer.schemas.readings import Reading

NVIDIA = "nvidia-smi"
MODELS = ("device-tree-model", "dmi-product_name")
PREFIXES = (
    *("lscpu", "proc-cpuinfo", "proc-meminfo", "sysfs-flat", "sbc-bench-cpu-topology", "os-release", "device-files"),
    *("proc-self-cgroup", "proc-self-mountinfo", "proc-self-status", "kernel-osrelease", *MODELS),
)
EXCERPT = "proc-cpuinfo-one-cpu"
ALLOWED = "Cpus_allowed_list:"


def readings(files: Files, name: str) -> dict[str, Reading]:
    """Readings of a folder called `name`: control groups are named after it where it does not say what they are called."""
    sysfs = flat(files.all("sysfs-flat"))
    cpuinfo = files.joined("proc-cpuinfo", separator="\n\n")
    texts = linux.LinuxTexts(
        cpuinfo=cpuinfo if cpuinfo else Text("", files.joined("proc-cpuinfo", "lscpu", "sysfs-flat").reason),
        meminfo=files.joined("proc-meminfo"),
        lscpu=files.first("lscpu", lambda text: lscpu.parse(text).logical),
        sbc_bench=files.joined("sbc-bench-cpu-topology"),
        os_release=files.joined("os-release"),
        model=files.joined(*MODELS),
        sysfs=sysfs,
        groups=groups(files, name),
        affinity_cpus=_affinity(files),
        kernel=files.joined("kernel-osrelease").text.strip(),
        excerpt=bool(cpuinfo) and all(item.startswith(EXCERPT) for item in files.names("proc-cpuinfo")),
    )
    answers = linux.readings(texts)
    machine = lscpu.parse(texts.lscpu.text).architecture
    if not answers["os.name"].known:
        answers["os.name"] = known("Linux", "the kind of the recorded files", reason="which Linux is not recorded")
    return {
        **answers,
        **gpu(files),
        **dict.fromkeys(NEURAL_ENGINE_NAMES, missing("Linux reaches no Neural Engine")),
        "process.machine": found(machine, "lscpu", "not recorded"),
        "mps.usable": mps.verdict(mps.MpsFacts("Linux")),
        "tpu": pci.tpu(sysfs, _devices(files)) if pci.devices(sysfs) else missing("PCI devices were not recorded"),
    }


def gpu(files: Files) -> dict[str, Reading]:
    """`gpu` and `gpu.driver` by `nvidia-smi` and by the PCI bus, as far as they were recorded."""
    smi = files.first(NVIDIA, nvidia.from_smi_xml)
    by_driver = found(nvidia.from_smi_xml(smi.text), " ".join(nvidia.SMI_COMMAND), smi.reason)
    sysfs = flat(files.all("sysfs-flat"))
    if by_driver.known or pci.devices(sysfs):
        return gpus.readings(by_driver, sysfs, _devices(files))
    absent = missing(f"{smi.reason}; PCI devices were not recorded")
    return {"gpu": absent, "gpu.driver": absent}


def flat(texts: list[str]) -> dict[str, str]:
    """Files of sysfs from lines of `path:value`, a line for each line of a file; the first text with a path counts."""
    files: dict[str, str] = {}
    for text in texts:
        own: dict[str, list[str]] = {}
        for line in text.splitlines():
            path, told, value = line.partition(":")
            if path.startswith("/sys/bus/pci/devices/"):  # PCI addresses hold colons: 0000:00:1e.0
                path, told, value = _after_address(line)
            if told:
                own.setdefault(path, []).append(value)
        files = {**{path: "\n".join(lines) for path, lines in own.items()}, **files}
    return files


def groups(files: Files, name: str) -> dict[str, dict[str, str]]:
    """The recorded files of the control groups, under the folders that the membership names, or else under `name`."""
    membership, mounts = files.exact(("proc-self-cgroup",)), files.exact(("proc-self-mountinfo",))
    found_groups: dict[str, dict[str, str]] = {}
    for file_name, text in files.exact(cgroup.FILES).items():
        controller = file_name.partition(".")[0]
        folders = cgroup.folders("".join(membership.values()), "".join(mounts.values()), controller)
        found_groups.setdefault(folders[0] if folders else name, {})[file_name] = text
    return found_groups


def _after_address(line: str) -> tuple[str, str, str]:
    folder, _, rest = line.removeprefix("/sys/bus/pci/devices/").partition("/")
    field, told, value = rest.partition(":")
    return f"/sys/bus/pci/devices/{folder}/{field}", told, value


def _affinity(files: Files) -> int | None:
    for line in files.joined("proc-self-status").text.splitlines():
        if line.startswith(ALLOWED):
            return len(cpu_list.parse(line.removeprefix(ALLOWED))) or None
    return None


def _devices(files: Files) -> frozenset[str]:
    return frozenset(files.joined("device-files").text.split())
