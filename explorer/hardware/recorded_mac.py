"""A Mac from recorded files."""

from explorer.hardware import ane_tables, ioreg, macos, neural_engine, system_profiler
from explorer.hardware.ane_tables import Identity
from explorer.hardware.answers import known, missing
from explorer.hardware.mac import Mac
from explorer.hardware.readers import Text
from explorer.hardware.recorded_files import Files
from explorer.schemas.readings import Reading

PROFILES = ("SPHardwareDataType", "SPDisplaysDataType", "SPMemoryDataType", "system_profiler")
ANE_LIST, ANE_TABLE = "ane_names", "m6-ioreg-ane"
PREFIXES = (
    *("sysctl", "sw_vers", "vm_stat", "ioreg", "memory_pressure", "powermetrics", "macmon-debug"),
    *(*PROFILES, ANE_LIST, ANE_TABLE),
)


def readings(files: Files) -> dict[str, Reading]:
    """Every reading that the files can give; MPS is absent where only torch could tell."""
    texts = _texts(files)
    answers = macos.readings(texts)
    if not answers["os.name"].known:
        answers["os.name"] = known("macOS", "the kind of the recorded files", reason="its version is not recorded")
    engine = _identity(files)
    if engine.engines and not neural_engine.engines(texts.neural_engine.text):
        answers |= _of_table(engine, answers)
    return {**answers, "mps.usable": _mps(answers["mps.usable"], Mac(texts))}


def _texts(files: Files) -> macos.MacTexts:
    profiles = [text for prefix in PROFILES for text in files.all(prefix)]
    merged = system_profiler.merged(profiles) if profiles else ""
    hardware, displays, memory = (Text(merged, files.joined(name, PROFILES[-1]).reason) for name in PROFILES[:-1])
    return macos.MacTexts(
        sysctl=files.joined("sysctl"),
        hardware=hardware,
        displays=displays,
        memory=memory,
        neural_engine=files.first("ioreg", neural_engine.engines),
        gpu=files.first("ioreg", ioreg.gpu_cores),
        vm_stat=files.joined("vm_stat"),
        sw_vers=files.joined("sw_vers"),
        memory_pressure=files.joined("memory_pressure"),
        powermetrics=files.joined("powermetrics"),
        macmon=files.joined("macmon-debug"),
    )


def _identity(files: Files) -> Identity:
    """The one machine that the tables of Neural Engines are of: the table's own, or the only one of a list."""
    table = ane_tables.of_columns(files.joined(ANE_TABLE).text)
    listed = ane_tables.of_paragraphs(files.joined(ANE_LIST).text)
    if table.engines:
        return table
    return listed[0] if len(listed) == 1 else Identity()


def _of_table(engine: Identity, answers: dict[str, Reading]) -> dict[str, Reading]:
    """What the table tells; readings that the Mac's own outputs told stay."""
    source = "a table of ioreg's values"
    named = f"Apple {engine.chip}" if engine.chip else ""
    chip = str(answers["chip.name"].value or named)
    told = neural_engine.neural_engine(Text(engine.registry, ""), chip, virtual=False)
    facts = {
        "chip.name": named,
        "machine.model": engine.model,
        "os.name": f"macOS {engine.os_version}" if engine.os_version else "",
        "os.build": engine.build,
    }
    unknown = {name: known(value, source) for name, value in facts.items() if value and _unknown(answers[name])}
    moved = {
        name: reading.model_copy(update={"source": source}) if reading.state == "ok" else reading
        for name, reading in told.items()
    }
    return {**unknown, **moved}


def _unknown(reading: Reading) -> bool:
    return not reading.known or reading.reason == "its version is not recorded"


def _mps(verdict: Reading, mac: Mac) -> Reading:
    """What the system rules out stays; the rest only torch could tell, and a virtual machine's promise is no promise."""
    if verdict.state != "pending":
        return verdict
    if mac.virtual.value:
        return missing("a virtual machine's GPU may refuse torch's first bytes (pytorch issue 125197)", state="unsupported")
    return missing("torch was not asked in this recording", verdict.source)
