"""Which tensors of a TorchScript archive are no parameters: classes in its code list those as `__parameters__ = ["weight", ]`."""

import re
from typing import Any

from explorer.models.archive import Archive
from explorer.models.bounds import clean
from explorer.models.stubs import Stub, StubTensor

CLASS = re.compile(r"^class (\w+)\(Module\):$|^  __parameters__ = \[([^\]\n]*)\]$", re.MULTILINE)
NAME = re.compile(r'"(\w+)"')
FILE_LIMIT = 2000
DEPTH_LIMIT = 100


def other_tensors(archive: Archive, top: Any) -> frozenset[str]:
    """Dotted names of the buffers and plain attributes below the module `top`."""
    listed = _listed(archive)
    names: set[str] = set()
    pending: list[tuple[tuple[str, ...], Any]] = [((), top)]
    seen: set[int] = set()
    while pending:
        path, module = pending.pop()
        if not isinstance(module, Stub) or not isinstance(module.state, dict) or id(module) in seen or len(path) > DEPTH_LIMIT:
            continue
        seen.add(id(module))
        parameters = listed.get(module.name)
        for key, child in module.state.items():
            if isinstance(child, StubTensor) and parameters is not None and key not in parameters:
                names.add(clean(".".join((*path, clean(key)))))
            pending.append(((*path, clean(key)), child))
    return frozenset(names)


def _listed(archive: Archive) -> dict[str, frozenset[str]]:
    """Names of parameters by the full name of the class, such as `__torch__.net.Layer`."""
    found: dict[str, frozenset[str]] = {}
    files = [name for name in archive.below("code/") if name.endswith(".py")][:FILE_LIMIT]
    for file in files:
        member = archive.find(f"code/{file}")
        text = archive.read(member).decode(errors="replace") if member else ""
        module, current = file.removesuffix(".py").replace("/", "."), ""
        for name, parameters in CLASS.findall(text):
            if name:
                current = f"{module}.{name}"
            else:
                found[current] = frozenset(NAME.findall(parameters))
    return found
