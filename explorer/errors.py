"""What a person did wrong, or what this machine cannot do, said in one sentence."""

from collections.abc import Mapping


class ExplorerError(Exception):
    """A problem that the user can mend: `message` says what, `remedy` says what to do.

    Raised by any capability; the command line prints it without a traceback and exits 1. Both are one line, whatever a file's
    names hold.
    `details` are facts for programs by name, such as the operator that a conversion lacks; `result` is what was found out before,
    in the form of the capability's answer, None where there is none.
    """

    result: object | None = None

    def __init__(self, message: str, remedy: str = "", details: Mapping[str, str] | None = None) -> None:
        self.message = " ".join(message.splitlines())
        self.remedy = " ".join(remedy.splitlines())
        super().__init__(self.message)
        self.details = dict(details or {})

    def __str__(self) -> str:
        return f"{self.message}: {self.remedy}" if self.remedy else self.message


class UsageError(ExplorerError):
    """The command line was used wrongly; exits 2."""


class Cancelled(BaseException):
    """The job was asked to stop; a BaseException so that no `except Exception` swallows it."""
