"""Takes out of a machine's outputs what names the machine or its owner: serials, UUIDs, addresses, host and user names."""

import contextlib
import getpass
import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass, field

SECRET = r"(?:serial|uuid|udid|ecid|edid|mac[-_ ]?address)"
# Shapes that are ids wherever they stand; a digit becomes 0, so that the shape stays.
IDS = re.compile(
    r"\b(?:[0-9a-fA-F]{8}[-_](?:[0-9a-fA-F]{4}[-_]){3}[0-9a-fA-F]{12}"  # UUID
    r"|[0-9a-fA-F]{8}-[0-9a-fA-F]{16}"  # Apple's UDID
    r"|(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}"  # network address
    r"|[0-9a-fA-F]{32,64})\b"  # machine and container ids
)
KEY = rf"<key>[^<\n]*{SECRET}[^<\n]*</key>\s*"
# Values by the name of their field, in JSON, property lists (still valid ones), XML of nvidia-smi, and lines of text.
FIELDS = {
    rf'("[^"\n]*{SECRET}[^"\n]*"\s*:\s*")[^"\n]+': "XXXXXXXXXX",
    rf"({KEY}<string>)[^<]+": "XXXXXXXXXX",
    rf"({KEY}<data>)[^<]+": "AAAA",
    rf"({KEY}<integer>)[^<]+": "0",
    r"(<(?:serial|uuid|gpu_uuid|pdi|process_name|mig_uuid)>)[^<]+": "XXXXXXXXXX",
    r"^([ \t]*(?:[\w.()]+[ \t])*(?:serial|uuid|udid|ecid)(?:[ \t][\w()]+)*[ \t]*:[ \t]*)\S.*$": "XXXXXXXXXX",
    r"(\bunique_id:? )[0-9]+": "0",
}
# Names of roles and of every machine say nothing of anyone, and some are words of the outputs.
GENERIC = frozenset(("root", "localhost", "localhost.localdomain", "vm", "linux", "mac", "user", "runner", "ubuntu"))


@dataclass(frozen=True)
class Names:
    """Names to replace, wherever they stand as a whole word."""

    hosts: Iterable[str] = field(default_factory=tuple)
    users: Iterable[str] = field(default_factory=tuple)


def names() -> Names:
    """Those of this machine and of the user who runs this."""
    host = socket.gethostname()
    short = host.partition(".")[0]
    users = {os.environ.get("USER", ""), os.environ.get("LOGNAME", ""), os.path.basename(os.path.expanduser("~"))}
    with contextlib.suppress(OSError, KeyError):  # a user id without a name, as in some containers
        users.add(getpass.getuser())
    return Names((host, short, f"{short}.local"), users)


def redacted(text: str, known: Names) -> str:
    """The text with every id as zeros, every named secret as `X`, host names as `host` and user names as `user`."""
    for pattern, blank in FIELDS.items():
        text = re.sub(pattern, rf"\g<1>{blank}", text, flags=re.IGNORECASE | re.MULTILINE)
    text = IDS.sub(lambda match: re.sub(r"[0-9a-fA-F]", "0", match[0]), text)
    for words, word in ((known.hosts, "host"), (known.users, "user")):
        for name in sorted({name for name in words if len(name) > 1 and name.lower() not in GENERIC}, key=len, reverse=True):
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", word, text)
    return text
