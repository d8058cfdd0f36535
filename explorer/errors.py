"""What a person did wrong, or what this machine cannot do, said in one sentence."""


class ExplorerError(Exception):
    """A problem that the user can mend: `message` says what, `remedy` says what to do.

    Raised by any capability; the command line prints it without a traceback and exits 1.
    """

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}: {self.remedy}" if self.remedy else self.message


class UsageError(ExplorerError):
    """The command line was used wrongly; exits 2."""


class Cancelled(BaseException):
    """The job was asked to stop; a BaseException so that no `except Exception` swallows it."""
