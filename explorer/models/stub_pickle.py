"""Reading torch's pickles without calling anything that they name.

Every global is an inert stand-in, and every opcode that would call, set or hash is replaced: a pickle can only describe itself.
Opcodes: the `pickletools` module of the standard library.
"""

import io
import pickle
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

from explorer.models.stubs import STORAGES, Global, Storage, Stub, safe_key

PICKLE_LIMIT_BYTES = 1 << 28


class _Limited:
    """The stream as the unpickler sees it: a size claimed in the pickle is never trusted beyond what is there."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def read(self, size: int) -> bytes:
        data = self._stream.read(min(size, PICKLE_LIMIT_BYTES))
        if len(data) < size:
            raise EOFError("the pickle is cut off")
        return data

    def readline(self) -> bytes:
        return self._stream.readline(1 << 20)


class StubUnpickler(pickle._Unpickler):
    """The standard library's unpickler in Python (its memo is a dict, so a wild index costs nothing) with harmless opcodes."""

    dispatch: ClassVar[dict[int, Any]] = dict(pickle._Unpickler.dispatch)
    stack: list[Any]
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]
    readline: Callable[[], bytes]

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__(_Limited(stream), encoding="utf-8", errors="replace")
        self.references: dict[str, None] = {}

    def find_class(self, module: str, name: str) -> Any:
        reference = Global(f"{module}.{name}")
        self.references[reference.name] = None
        return reference

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
        if not isinstance(elements, int) or elements < 0:
            raise pickle.UnpicklingError("a storage with a wrong size")
        return Storage(STORAGES.get(name, "uint8"), str(key)[:200], str(location)[:50], elements)

    def load_reduce(self) -> None:
        args = self.stack.pop()
        self.stack[-1] = _call(self.stack[-1], args)

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
    except Exception as error:
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}"[:200]) from None
    return Described(value, list(unpickler.references))
