"""Reading torch's pickles without calling anything that they name.

Every global is an inert stand-in, and every opcode that would call, set or hash is replaced: a pickle can only describe itself.
Opcodes: the `pickletools` module of the standard library.
"""

import io
import os
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

from explorer.models.bounds import clean
from explorer.models.stubs import COUNT_LIMIT, STORAGES, Global, Storage, Stub, safe_key

VALUE_LIMIT_BYTES = 1 << 20  # of a longer text or run of bytes only the head is read
HEAD_BYTES = 4096
NESTED = "torch.storage._load_from_bytes"  # a plain pickle of a tensor holds its storage as a whole torch.save file
NESTED_OBJECT = 3
STEP_LIMIT = 1_000_000
STEPS_PER_TENSOR = 100
STEP_LIMIT_ABSOLUTE = 10_000_000
DEPTH_LIMIT = 1000
REFERENCE_LIMIT = 10_000


class _Limited:
    """The stream as the unpickler sees it: a size claimed in the pickle is never trusted beyond what is there."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        start = stream.tell()
        self._end = stream.seek(0, os.SEEK_END)
        stream.seek(start)

    def read(self, size: int) -> bytes:
        if size > VALUE_LIMIT_BYTES:
            return self._passed_over(size)
        data = self._stream.read(size)
        if len(data) < size:
            raise EOFError("the pickle is cut off")
        return data

    def readline(self) -> bytes:
        return self._stream.readline(VALUE_LIMIT_BYTES)

    def _passed_over(self, size: int) -> bytes:
        if size > self._end - self._stream.tell():
            raise EOFError("the pickle is cut off")
        head = self._stream.read(HEAD_BYTES)
        self._stream.seek(size - len(head), os.SEEK_CUR)
        return _whole_characters(head)


class StubUnpickler(pickle._Unpickler):
    """The standard library's unpickler in Python (its memo is a dict, so a wild index costs nothing) with harmless opcodes."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]
    append: Callable[[Any], None]
    metastack: list[Any]
    pop_mark: Callable[[], list[Any]]
    read: Callable[[int], bytes]
    readline: Callable[[], bytes]

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(stream, encoding="utf-8", errors="replace")
        self._source = stream
        self.references: dict[str, None] = {}
        self.tensors = 0

    def load(self) -> Any:
        """The standard library's loop, with its steps counted: a pickle of nothing but marks would fill the memory."""
        self.metastack, self.stack = [], []
        self.append = self.stack.append
        self.proto = 0
        source = _Limited(self._source)
        self.read, self.readline = source.read, source.readline
        take, dispatch = self._source.read, self.dispatch
        steps = 0
        try:
            while opcode := take(1):
                dispatch[opcode[0]](self)
                steps += 1
                if steps > STEP_LIMIT and steps > min(STEP_LIMIT + STEPS_PER_TENSOR * self.tensors, STEP_LIMIT_ABSOLUTE):
                    raise pickle.UnpicklingError("more steps than its tensors need")
        except pickle._Stop as stop:  # type: ignore[attr-defined]
            return stop.value
        raise EOFError("the pickle is cut off")

    def find_class(self, module: str, name: str) -> Any:
        reference = Global(clean(f"{module}.{name}"))
        if len(self.references) > REFERENCE_LIMIT:
            raise pickle.UnpicklingError(f"more than {REFERENCE_LIMIT} names of classes")
        self.references[reference.name] = None
        return reference

    def load_frame(self) -> None:
        """Frames only help readers that copy."""
        self.read(8)

    def load_bytearray8(self) -> None:
        self.append(self.read(int.from_bytes(self.read(8), "little")))

    def load_mark(self) -> None:
        if len(self.metastack) > DEPTH_LIMIT:
            raise pickle.UnpicklingError(f"nested deeper than {DEPTH_LIMIT}")
        self.metastack.append(self.stack)
        self.stack = []
        self.append = self.stack.append

    def get_extension(self, code: int) -> None:
        raise pickle.UnpicklingError("an extension code")

    def persistent_load(self, pid: Any) -> Any:
        """("storage", type, key, location, elements, ...) or ("module", class, ...) as torch.save writes it."""
        if isinstance(pid, tuple) and len(pid) > 1 and pid[0] == "module":
            return pid[1]
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            return Stub("persistent", ())
        kind, key, location, elements = pid[1:5]
        name = kind.name.rpartition(".")[2] if isinstance(kind, Global) else ""
        if not isinstance(elements, int) or not 0 <= elements < COUNT_LIMIT:
            raise pickle.UnpicklingError("a storage with a wrong size")
        self.tensors += 1
        return Storage(STORAGES.get(name, "uint8"), clean(key), clean(location, 50), elements)

    def load_reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack[-1]
        nested = isinstance(function, Global) and function.name == NESTED and isinstance(args, tuple)
        self.stack[-1] = self._nested(args) if nested else _call(function, args)

    def _nested(self, args: tuple[Any, ...]) -> Any:
        """The storage that a torch.save file inside the pickle describes; its pickles come before its numbers."""
        stream = io.BytesIO(args[0] if len(args) == 1 and isinstance(args[0], bytes) else b"")
        try:
            described = [read_pickle(stream) for _ in range(NESTED_OBJECT + 1)]
        except pickle.UnpicklingError:
            return Stub(NESTED, ())
        self.references.update(dict.fromkeys(name for inner in described for name in inner.references))
        return described[NESTED_OBJECT].value

    def load_newobj_ex(self) -> None:
        self.stack.pop()
        self.load_reduce()

    def load_inst(self) -> None:
        module = self.readline()[:-1].decode("ascii", errors="replace")
        name = self.readline()[:-1].decode("ascii", errors="replace")
        args = self.pop_mark()
        self.append(_call(self.find_class(module, name), args))

    def load_obj(self) -> None:
        args = self.pop_mark()
        self.append(_call(args.pop(0), args))

    def load_build(self) -> None:
        state = self.stack.pop()
        if isinstance(self.stack[-1], Stub):
            self.stack[-1].state = state

    def load_setitem(self) -> None:
        value = self.stack.pop()
        key = self.stack.pop()
        _set(self.stack[-1], [key, value])

    def load_setitems(self) -> None:
        items = self.pop_mark()
        _set(self.stack[-1], items)

    def load_dict(self) -> None:
        items = self.pop_mark()
        result: dict[Any, Any] = {}
        _set(result, items)
        self.append(result)

    def load_append(self) -> None:
        value = self.stack.pop()
        _extend(self.stack[-1], [value])

    def load_appends(self) -> None:
        items = self.pop_mark()
        _extend(self.stack[-1], items)

    def load_empty_set(self) -> None:
        self.append([])

    def load_frozenset(self) -> None:
        self.append(self.pop_mark())


def _whole_characters(head: bytes) -> bytes:
    """Without the beginning of a UTF-8 character at the end."""
    end = len(head)
    while end and head[end - 1] & 0xC0 == 0x80:
        end -= 1
    return head[: end - 1] if end and head[end - 1] >= 0xC0 else head


def _call(function: Any, args: Any) -> Any:
    if not isinstance(function, Global):
        raise pickle.UnpicklingError("a call of something that is no name")
    return function(*args) if isinstance(args, tuple | list) else Stub(function.name, ())


def _set(target: Any, items: list[Any]) -> None:
    table = target.items if isinstance(target, Stub) else target
    if not isinstance(table, dict):
        raise pickle.UnpicklingError("items for something that is no table")
    for key, value in zip(items[::2], items[1::2], strict=True):
        table[safe_key(key)] = value


def _extend(target: Any, items: Iterable[Any]) -> None:
    values = target.values if isinstance(target, Stub) else target
    if not isinstance(values, list):
        raise pickle.UnpicklingError("items for something that is no list")
    values.extend(items)


StubUnpickler.dispatch.update(
    {
        pickle.FRAME[0]: StubUnpickler.load_frame,
        pickle.MARK[0]: StubUnpickler.load_mark,
        pickle.BYTEARRAY8[0]: StubUnpickler.load_bytearray8,
        pickle.REDUCE[0]: StubUnpickler.load_reduce,
        pickle.NEWOBJ[0]: StubUnpickler.load_reduce,
        pickle.NEWOBJ_EX[0]: StubUnpickler.load_newobj_ex,
        pickle.INST[0]: StubUnpickler.load_inst,
        pickle.OBJ[0]: StubUnpickler.load_obj,
        pickle.BUILD[0]: StubUnpickler.load_build,
        pickle.SETITEM[0]: StubUnpickler.load_setitem,
        pickle.SETITEMS[0]: StubUnpickler.load_setitems,
        pickle.DICT[0]: StubUnpickler.load_dict,
        pickle.APPEND[0]: StubUnpickler.load_append,
        pickle.APPENDS[0]: StubUnpickler.load_appends,
        pickle.EMPTY_SET[0]: StubUnpickler.load_empty_set,
        pickle.ADDITEMS[0]: StubUnpickler.load_appends,
        pickle.FROZENSET[0]: StubUnpickler.load_frozenset,
    }
)


@dataclass(frozen=True)
class Described:
    """A pickle as data: stand-ins for objects, plain values as they are, and every name that it refers to."""

    value: Any
    references: list[str]


def read_pickle(data: BinaryIO | bytes) -> Described:
    """One pickle from a stream (left after it) or from bytes. Raises `pickle.UnpicklingError` for whatever is wrong with it."""
    unpickler = StubUnpickler(io.BytesIO(data) if isinstance(data, bytes) else data)
    try:
        value = unpickler.load()
    except pickle.UnpicklingError:
        raise
    except EOFError:
        raise pickle.UnpicklingError("the pickle is cut off") from None
    except Exception:
        raise pickle.UnpicklingError("the pickle has a wrong opcode or value") from None
    return Described(value, list(unpickler.references))
