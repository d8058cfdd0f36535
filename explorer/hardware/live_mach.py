"""Memory figures of macOS from libSystem through ctypes, for when psutil raises (psutil issue 2853). Never run on a Mac yet.

psutil up to 7.2.2 gives `host_statistics64` a buffer of the size that the structure had when it was compiled; macOS 27 fills
more and refuses. Here the buffer is far too large, and the fields used have kept their places since macOS 10.6
(xnu osfmk/mach/vm_statistics.h, bsd/sys/sysctl.h).
"""

import ctypes
import struct
from typing import Any

LIBRARY = "/usr/lib/libSystem.B.dylib"
HOST_VM_INFO64 = 4
BUFFER_INTEGERS = 1024
KERN_SUCCESS = 0
FREE_ACTIVE_INACTIVE = struct.Struct("<3I")  # the first fields of vm_statistics64, in pages
SWAP_TOTAL_LEFT_USED = struct.Struct("<3Q")  # the first fields of xsw_usage, in bytes
SYSCTL_BYTES = 64


def available_pages(statistics: bytes) -> int | None:
    """Free and inactive pages of a `vm_statistics64`, the sum that psutil calls available; None when it is cut short."""
    if len(statistics) < FREE_ACTIVE_INACTIVE.size:
        return None
    free, _, inactive = FREE_ACTIVE_INACTIVE.unpack_from(statistics)
    return int(free) + int(inactive)


def swap_used(usage: bytes) -> int | None:
    """Used bytes of an `xsw_usage`; None when it is cut short."""
    return int(SWAP_TOTAL_LEFT_USED.unpack_from(usage)[2]) if len(usage) >= SWAP_TOTAL_LEFT_USED.size else None


class Mach:
    """The few calls of libSystem that are needed; `library` stands in for it in tests. Raises OSError where there is none."""

    def __init__(self, library: Any = None) -> None:
        self._library = ctypes.CDLL(LIBRARY) if library is None else library
        host, pointer = ctypes.c_uint, ctypes.c_void_p
        self._library.mach_host_self.restype = host
        self._library.host_page_size.argtypes = (host, pointer)
        self._library.host_statistics64.argtypes = (host, ctypes.c_int, pointer, pointer)
        self._library.sysctlbyname.argtypes = (ctypes.c_char_p, pointer, pointer, pointer, ctypes.c_size_t)
        self._host = self._library.mach_host_self()  # once: each call takes one more reference to the port

    def total_bytes(self) -> int | None:
        """Memory of the machine."""
        return _integer(self._sysctl(b"hw.memsize"))

    def available_bytes(self) -> int | None:
        """Free and inactive memory; None when the kernel refuses."""
        page_bytes = ctypes.c_size_t(0)
        if self._library.host_page_size(self._host, ctypes.byref(page_bytes)) != KERN_SUCCESS:
            return None
        pages = available_pages(self._vm_statistics())
        return pages * page_bytes.value if pages is not None and page_bytes.value else None

    def swap_used_bytes(self) -> int | None:
        """Swap in use; None when the kernel refuses."""
        return swap_used(self._sysctl(b"vm.swapusage"))

    def pressure_level(self) -> int | None:
        """1, 2 or 4 as `kern.memorystatus_vm_pressure_level` counts; None when the kernel refuses."""
        return _integer(self._sysctl(b"kern.memorystatus_vm_pressure_level"))

    def _vm_statistics(self) -> bytes:
        buffer, count = (ctypes.c_int * BUFFER_INTEGERS)(), ctypes.c_uint(BUFFER_INTEGERS)
        status = self._library.host_statistics64(self._host, HOST_VM_INFO64, ctypes.byref(buffer), ctypes.byref(count))
        return bytes(buffer)[: 4 * count.value] if status == KERN_SUCCESS else b""

    def _sysctl(self, name: bytes) -> bytes:
        buffer, size = ctypes.create_string_buffer(SYSCTL_BYTES), ctypes.c_size_t(SYSCTL_BYTES)
        failed = self._library.sysctlbyname(name, ctypes.byref(buffer), ctypes.byref(size), None, 0)
        return b"" if failed else buffer.raw[: size.value]


def _integer(data: bytes) -> int | None:
    """A number of 4 or 8 bytes, as the kernel chose."""
    return int.from_bytes(data, "little") if data else None
