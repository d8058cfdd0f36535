"""The command line: each command in its own module, imported only when it is asked for."""

import importlib
import sys
from collections.abc import Sequence

from explorer import __version__

MODEL_COMMANDS = ("values", "diff", "verify", "match", "layers", "graph")
CORE_ML_COMMANDS = ("evaluate", "operators", "hints", "prove")
SPEC_COMMANDS = (
    "inspect", "train", "convert", *CORE_ML_COMMANDS, "quantize", "prune", "benchmark", "ceilings", "export", *MODEL_COMMANDS
)  # fmt: skip
COMMANDS = {
    "devices": ("explorer.cli.devices", "what this machine can compute with"),
    "inspect": ("explorer.cli.spec_command", "what a model file is; runs no code from it"),
    "values": ("explorer.cli.spec_command", "statistics of a tensor, or a sweep for NaN"),
    "diff": ("explorer.cli.spec_command", "how the tensors of two models differ"),
    "verify": ("explorer.cli.spec_command", "run two models and compare their outputs"),
    "match": ("explorer.cli.spec_command", "whether stored weights fit a module"),
    "layers": ("explorer.cli.spec_command", "what each layer costs"),
    "graph": ("explorer.cli.spec_command", "the operators of a model"),
    "train": ("explorer.cli.spec_command", "train a model"),
    "convert": ("explorer.cli.spec_command", "torch to ONNX, Core ML or .pt2, checked"),
    "prove": ("explorer.cli.spec_command", "run a converted model on this Mac's compute units"),
    "evaluate": ("explorer.cli.spec_command", "run an .mlpackage in the reference evaluator"),
    "operators": ("explorer.cli.spec_command", "which operators that evaluator knows"),
    "hints": ("explorer.cli.spec_command", "published Neural Engine rules on an .mlpackage"),
    "quantize": ("explorer.cli.spec_command", "int8 ONNX or Core ML weights, checked"),
    "prune": ("explorer.cli.spec_command", "remove weights or channels"),
    "benchmark": ("explorer.cli.spec_command", "compare ONNX files: bytes, accuracy, latency"),
    "ceilings": ("explorer.cli.spec_command", "measure the most that this machine does"),
    "watch": ("explorer.cli.watch", "follow what any trainer logs below a folder"),
    "export": ("explorer.cli.spec_command", "a run as TensorBoard events, CSV, JSONL or a script"),
    "doctor": ("explorer.cli.doctor", "one page for a bug report; records a machine"),
    "tour": ("explorer.cli.tour", "the whole journey on the digits sample"),
    "run": ("explorer.cli.run", "run a spec from a TOML file"),
    "jobs": ("explorer.cli.jobs", "list, show, follow, steer, cancel, remove"),
    "engine": ("explorer.cli.engine", "run, status, stop"),
}
EXIT_USER_ERROR, EXIT_USAGE, EXIT_INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and give its exit code: 0 well, 1 a problem said in one sentence, 2 wrong usage."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        return _guarded("explorer.cli.screens", [], as_json=False)
    if words[0] in ("-V", "--version"):
        print(f"explorer {__version__}")
        return 0
    if words[0] in ("-h", "--help", "help"):
        print(_help())
        return 0
    if words[0].startswith("-"):
        return _guarded("explorer.cli.screens", words, as_json=False)
    if words[0] not in COMMANDS:
        print(f"explorer: there is no command {words[0]!r}; `explorer --help` lists them", file=sys.stderr)
        return EXIT_USAGE
    return _guarded(COMMANDS[words[0]][0], words, as_json="--json" in words)


def _help() -> str:
    lines = ["usage: explorer [COMMAND] [--help]", "", "Without a command it opens the screens. Commands:"]
    lines += [f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join([*lines, "", "  --version  the version", "  --no-mouse leave the mouse to the terminal"])


def _guarded(module: str, words: list[str], *, as_json: bool) -> int:
    from explorer.errors import ExplorerError, UsageError

    try:
        code: int = importlib.import_module(module).main(words)
        sys.stdout.flush()
        return code
    except ExplorerError as error:
        if as_json:
            import json

            print(json.dumps({"error": error.message, "remedy": error.remedy}))
        print(f"explorer: {error}", file=sys.stderr)
        return EXIT_USAGE if isinstance(error, UsageError) else EXIT_USER_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        sys.stderr.close()
        return 0
