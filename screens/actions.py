"""The one list of what a key does: bindings, footer, help and palette all read it.

A screen's action `train.pause` runs `action_pause` of the screen whose section is `train`. `when` names a property of that screen
(or of the app) that says whether the action applies now; call `refresh_bindings()` when its answer changes.
"""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding
from textual.dom import DOMNode


@dataclass(frozen=True)
class Action:
    """One thing a person can do: `keys` as Textual names them, the first one shown."""

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    when: str = ""
    footer: bool = True
    call: str = ""

    @property
    def scope(self) -> str:
        """The section it belongs to, or `app`."""
        return self.id.partition(".")[0]

    @property
    def textual_action(self) -> str:
        """What Textual runs: `call` with its arguments, else the name after the dot; prefixed for the app."""
        name = self.call or self.id.partition(".")[2]
        return f"app.{name}" if self.scope == "app" else name

    @property
    def method(self) -> str:
        return self.textual_action.removeprefix("app.").partition("(")[0]


def _list_moves(scope: str, row: str) -> tuple[Action, ...]:
    """The keys that move through a list, the same on every page."""
    return (
        Action(f"{scope}.up", ("up",), "up", f"Select the {row} above", footer=False),
        Action(f"{scope}.down", ("down",), "down", f"Select the {row} below", footer=False),
        Action(f"{scope}.page_up", ("pageup",), "page up", "Go up by a page", footer=False),
        Action(f"{scope}.page_down", ("pagedown",), "page down", "Go down by a page", footer=False),
        Action(f"{scope}.first", ("home",), "first", f"Go to the first {row}", footer=False),
        Action(f"{scope}.last", ("end",), "last", f"Go to the last {row}", footer=False),
    )


# Sections of the top bar in the order of their keys.
SECTIONS: dict[str, str] = {
    "hardware": "Hardware",
    "models": "Models",
    "train": "Train",
    "convert": "Convert",
    "lab": "Lab",
    "experiments": "Experiments",
}

# Titles of scopes that are no section.
SCOPES: dict[str, str] = {"board": "Charts", "watch": "Watch"}

HARDWARE = (
    Action("hardware.back", ("escape",), "this machine", "Back from the recorded machine to this one", "recorded"),
    Action("hardware.details", ("enter",), "all readings", "Show every reading of this part: state, source, reason", "filled"),
    Action("hardware.measure", ("b",), "measure ceilings", "Measure the most that this machine does", "can_measure"),
    Action("hardware.cancel", ("ctrl+x",), "stop measuring", "Stop the measurement, after a question", "can_cancel"),
    Action("hardware.roofline", ("r",), "roofline", "Draw what the measured limits allow", "has_ceilings"),
    Action("hardware.open", ("o",), "open recorded", "Show a machine from a folder of its recorded outputs", "connected"),
    Action("hardware.reload", ("u",), "read again", "Ask the engine for the readings again", "can_reload"),
    Action("hardware.up", ("up",), "up", "Select the part above", footer=False),
    Action("hardware.down", ("down",), "down", "Select the part below", footer=False),
    Action("hardware.page_up", ("pageup",), "page up", "Scroll the page of this part up", "can_scroll", footer=False),
    Action("hardware.page_down", ("pagedown",), "page down", "Scroll the page of this part down", "can_scroll", footer=False),
)

MODELS = (
    Action("models.open", ("o",), "open", "Choose a model file from the folders", "connected"),
    Action(
        "models.enter",
        ("enter",),
        "open, fold",
        "Open a model, fold a module, show a tensor's facts",
        "filled",
    ),
    Action("models.back", ("escape",), "back", "Back to the opened model", "can_go_back"),
    Action("models.values", ("v",), "values", "Show range, moments, NaN and histogram of this tensor", "can_read_values"),
    Action("models.graph", ("g",), "graph", "List the operators of this model", "can_read_graph"),
    Action("models.uses", ("u",), "used by", "Go to the first operator that reads this tensor", "can_find_uses"),
    Action("models.safety", ("s",), "safety", "Show what loading this file would run", "opened"),
    Action("models.diff", ("d",), "diff with…", "Compare the tensors with those of another model", "can_compare"),
    Action("models.verify", ("equals_sign",), "same as…", "Run this and another model on the same inputs", "connected"),
    Action("models.search", ("slash",), "filter", "Show the tensors whose name holds some text", "opened"),
    Action("models.start", ("r",), "recent", "List recent files, models of your jobs and the samples"),
    Action("models.facts", ("i",), "facts", "Show ports, contents, metadata, findings, named code", "opened"),
    Action("models.match", ("w",), "fit a module", "Lay the weights against a factory without loading them", "can_match"),
    Action("models.layers", ("y",), "layers", "Count and time each layer of a factory or a job", "can_count_layers"),
    Action("models.sweep", ("N",), "find NaN", "Read every tensor and look for NaN and infinity", "can_compare"),
    Action("models.train", ("t",), "train", "Train a model with these weights", "can_train"),
    Action("models.convert", ("c",), "convert", "Convert the model to ONNX or Core ML", "can_train"),
    Action("models.quantize", ("z",), "quantize", "Store the model in eight bits", "can_quantize"),
    Action("models.fold", ("left",), "fold", "Fold this module, or go to the one above", "opened", footer=False),
    Action("models.unfold", ("right",), "unfold", "Unfold this module", "opened", footer=False),
    Action("models.up", ("up",), "up", "Select the row above", footer=False),
    Action("models.down", ("down",), "down", "Select the row below", footer=False),
    Action("models.page_up", ("pageup",), "page up", "Go up by a page", footer=False),
    Action("models.page_down", ("pagedown",), "page down", "Go down by a page", footer=False),
    Action("models.first", ("home",), "first", "Go to the first row", "opened", footer=False),
    Action("models.last", ("end",), "last", "Go to the last row", "opened", footer=False),
)

GRAPH = (
    Action("graph.enter", ("enter",), "details", "Show what an operator reads and gives; fold a module", "filled"),
    Action("graph.back", ("escape",), "back", "Back to the model"),
    Action("graph.tensor", ("w",), "its weight", "Go to this operator's weight in the tree", "has_weight"),
    Action("graph.search", ("slash",), "find", "Show the operators with some text in them"),
    Action(
        "graph.group",
        ("m",),
        "by module",
        "Group by the modules they came from, or list in order",
        "has_modules",
    ),
    Action("graph.next_use", ("u",), "next use", "Go to the next operator that reads the same tensor", "has_uses"),
    Action("graph.fold", ("left",), "fold", "Fold this block or module, or go to the one above", "can_fold", footer=False),
    Action("graph.unfold", ("right",), "unfold", "Unfold this block or module", "can_fold", footer=False),
    *_list_moves("graph", "operator"),
)

RESULT = (
    Action("result.enter", ("enter",), "details", "Show this row and the findings on a page", "filled"),
    Action("result.back", ("escape",), "back", "Back to the model"),
    Action("result.sort", ("s",), "sort", "Sort by the next column", "can_sort"),
    Action("result.search", ("slash",), "filter", "Show the rows whose name holds some text", "can_filter"),
    Action("result.change", ("e",), "change and run", "Open the form with the values of this request", "can_change"),
    Action("result.trust", ("t",), "trust the file", "Say yes to the file that was not loaded; run again", "can_trust"),
    Action("result.cancel", ("ctrl+x",), "cancel", "Stop this job, after a question", "can_cancel"),
    *_list_moves("result", "row"),
)

CHOICE = (
    Action("choice.enter", ("enter",), "choose", "Choose this model"),
    Action("choice.folders", ("o",), "from folders", "Choose a file from the folders"),
    Action("choice.up", ("up",), "up", "Select the model above", footer=False),
    Action("choice.down", ("down",), "down", "Select the model below", footer=False),
    Action("choice.close", ("escape",), "close", "Back to the screen"),
)

TRAIN = (
    Action("train.pause", ("space",), "pause", "Pause at the next step", "can_pause"),
    Action("train.unpause", ("space",), "go on", "Go on with the paused training", "can_unpause"),
    Action("train.resume", ("r",), "resume", "Go on from the last checkpoint", "can_resume"),
    Action("train.checkpoint", ("k",), "checkpoint", "Save a checkpoint at the next step", "can_steer"),
    Action("train.raise_rate", ("plus",), "lr up", "Multiply the learning rate by 1.25", "can_steer"),
    Action("train.lower_rate", ("minus",), "lr down", "Divide the learning rate by 1.25", "can_steer"),
    Action("train.stop", ("x",), "stop", "End well after this step, with the model saved; after a question", "can_steer"),
    Action("train.new", ("n",), "new", "Open the form for a new training", "connected"),
    Action("train.add", ("a",), "add run", "Draw another run beside this one, or take one away", "can_read"),
    Action(
        "train.settings", ("m",), "set lr", "Set the learning rate or the log interval to a number", "can_steer", footer=False
    ),
    Action("train.export", ("e",), "export", "Write the history as event file, CSV or JSON lines, or a script", "can_read"),
    Action("train.details", ("enter",), "details", "Show all facts, alarms, checkpoints, result and log on a page", "shown"),
    Action(
        "train.cancel", ("ctrl+x",), "cancel", "Break off this training, leaving a checkpoint; after a question", "can_cancel"
    ),
    Action("train.watch", ("w",), "watch logs", "Watch what other trainers log below a folder", "connected"),
    Action("train.copy", ("y",), "copy spec", "Copy the spec as TOML to the terminal's clipboard", "can_read", footer=False),
)

OVERLAY = (
    Action("overlay.choose", ("enter", "space"), "draw or take away", "Draw this run, or take it from the chart"),
    Action("overlay.up", ("up",), "up", "Select the run above", footer=False),
    Action("overlay.down", ("down",), "down", "Select the run below", footer=False),
    Action("overlay.close", ("escape",), "close", "Back to the screen"),
)

BOARD = (
    Action("board.metrics", ("v",), "more metrics", "Show the next metrics in the charts", "has_more_metrics"),
    Action("board.smooth", ("s",), "smooth", "Smooth the curves: not, a little, more, much", "has_curves"),
    Action("board.log", ("l",), "log", "Draw the values on a logarithmic scale, or a linear one", "has_curves"),
    Action("board.zoom_in", ("z",), "zoom", "Show half as much around the cursor, or up to the latest value", "has_curves"),
    Action("board.zoom_out", ("Z",), "zoom out", "Show twice as much", "is_zoomed", footer=False),
    Action("board.whole", ("0",), "whole", "Show the whole run again", "is_zoomed"),
    Action("board.cursor", ("c",), "cursor", "Read the values of every curve at a place, or stop reading", "has_curves"),
    Action("board.axis", ("t",), "time", "Draw over steps, or over the time since each run began", "can_switch_axis"),
    Action(
        "board.left",
        ("left",),
        "left",
        "Move the cursor to the left; without a cursor, the part shown",
        "has_curves",
        footer=False,
    ),
    Action(
        "board.right",
        ("right",),
        "right",
        "Move the cursor to the right; without a cursor, the part shown",
        "has_curves",
        footer=False,
    ),
    Action("board.begin", ("home",), "begin", "Go to the first value", "has_curves", footer=False),
    Action("board.end", ("end",), "end", "Go to the latest value", "has_curves", footer=False),
)

WATCH = (
    Action("watch.mark", ("space",), "mark", "Mark this run to draw it with the other marked ones, up to eight", "filled"),
    Action("watch.alone", ("enter",), "alone", "Draw this run only", "filled"),
)

# Behind the keys of the charts.
WATCH_MORE = (
    Action("watch.open", ("o",), "other folder", "Watch the runs of another folder", "connected"),
    Action("watch.back", ("escape",), "back", "Back to the trainings"),
    Action("watch.up", ("up",), "up", "Select the run above", footer=False),
    Action("watch.down", ("down",), "down", "Select the run below", footer=False),
    Action("watch.page_up", ("pageup",), "page up", "Go up by a page", footer=False),
    Action("watch.page_down", ("pagedown",), "page down", "Go down by a page", footer=False),
)

CONVERT = (
    Action("convert.new", ("n",), "new", "Open the form for a new conversion", "connected"),
    Action("convert.edit", ("e",), "change", "Open the form with the values of this conversion", "can_edit"),
    Action("convert.cancel", ("ctrl+x",), "cancel", "Stop this conversion, after a question", "can_cancel"),
    Action("convert.repair", ("r",), "repair", "Convert again, keeping in float32 what breaks in float16", "can_repair"),
    Action("convert.trust", ("t",), "trust the file", "Say yes to the file that was not loaded; convert again", "can_trust"),
    Action("convert.half", ("f",), "float16", "Show every value that breaks in float16, with a remedy", "has_losses"),
    Action("convert.hints", ("h",), "hints", "Show what is known about the Neural Engine, with source and date", "has_hints"),
    Action(
        "convert.message", ("m",), "messages", "Show the converters' own words: the error, and what they printed", "can_read_log"
    ),
    Action("convert.inspect", ("o", "i"), "open", "Open the converted model on the Models screen", "can_inspect"),
    Action("convert.quantize", ("z",), "quantize", "Store the converted model in eight bits", "can_quantize"),
    Action("convert.copy", ("y",), "copy", "Copy the command line that does the same to the terminal's clipboard", "can_copy"),
    Action("convert.older", ("left",), "older", "Show the conversion before this one", "has_older"),
    Action("convert.newer", ("right",), "newer", "Show the conversion after this one", "has_newer"),
    Action("convert.up", ("up",), "up", "Scroll up", "shown", footer=False),
    Action("convert.down", ("down",), "down", "Scroll down", "shown", footer=False),
    Action("convert.page_up", ("pageup",), "page up", "Scroll up by a page", "shown", footer=False),
    Action("convert.page_down", ("pagedown",), "page down", "Scroll down by a page", "shown", footer=False),
)

LAB = (
    Action("lab.mark", ("space",), "mark", "Mark this variant for the benchmark", "can_mark"),
    Action("lab.benchmark", ("b",), "benchmark", "Compare the marked ONNX files, or all of this model", "connected"),
    Action("lab.quantize", ("z",), "quantize", "Store a converted model in eight bits", "connected"),
    Action("lab.prune", ("p",), "prune", "Remove weights or channels of a trained model", "connected"),
    Action("lab.convert", ("c",), "convert", "Convert the trained or pruned model", "connected"),
    Action("lab.details", ("enter",), "details", "Show the proof and the findings of this variant", "filled"),
    Action("lab.cancel", ("ctrl+x",), "cancel", "Stop the job that runs here, after a question", "can_cancel"),
    Action("lab.up", ("up",), "up", "Select the variant above", footer=False),
    Action("lab.down", ("down",), "down", "Select the variant below", footer=False),
    Action("lab.page_up", ("pageup",), "page up", "Go up by a page", footer=False),
    Action("lab.page_down", ("pagedown",), "page down", "Go down by a page", footer=False),
)

EXPERIMENTS = (
    Action("experiments.details", ("enter",), "details", "Show spec, result, findings and log of this job", "filled"),
    Action("experiments.search", ("slash",), "filter", "Show the jobs with some text, such as model:digits state:done", "any"),
    Action("experiments.mark", ("space",), "mark", "Mark this job to compare or remove it", "filled"),
    Action("experiments.compare", ("C",), "compare", "Show the marked jobs side by side", "can_compare"),
    Action("experiments.repeat", ("r",), "repeat", "Run the same spec again", "can_repeat"),
    Action("experiments.resume", ("R",), "resume", "Go on from the last checkpoint", "can_resume"),
    Action("experiments.open", ("o",), "its screen", "Show this job on the screen made for its kind", "filled"),
    Action("experiments.cancel", ("ctrl+x",), "cancel", "Stop this job, after a question", "can_cancel"),
    Action(
        "experiments.remove", ("D", "delete"), "remove", "Remove the marked jobs, or this one, after a question", "can_remove"
    ),
    Action("experiments.copy", ("y",), "copy spec", "Copy the spec as TOML to the terminal's clipboard", "can_repeat"),
    Action("experiments.up", ("up",), "up", "Select the job above", footer=False),
    Action("experiments.down", ("down",), "down", "Select the job below", footer=False),
    Action("experiments.page_up", ("pageup",), "page up", "Go up by a page", footer=False),
    Action("experiments.page_down", ("pagedown",), "page down", "Go down by a page", footer=False),
    Action("experiments.first", ("home",), "first", "Go to the first row", footer=False),
    Action("experiments.last", ("end",), "last", "Go to the last row", footer=False),
)

PICKER = (
    Action("picker.enter", ("enter",), "open", "Open the selected file or folder"),
    Action("picker.parent", ("left",), "folder above", "Go to the folder above; backspace, too, when nothing is typed"),
    Action("picker.hidden", ("ctrl+t",), "hidden files", "Show or leave out hidden files"),
    Action("picker.up", ("up",), "up", "Select the row above", footer=False),
    Action("picker.down", ("down",), "down", "Select the row below", footer=False),
    Action("picker.page_up", ("pageup",), "page up", "Go up by a page", footer=False),
    Action("picker.page_down", ("pagedown",), "page down", "Go down by a page", footer=False),
    Action("picker.close", ("escape",), "close", "Back to the screen"),
)

SEARCH = (
    Action("search.keep", ("enter", "down"), "keep", "Keep the filter and go back to the list"),
    Action("search.clear", ("escape",), "clear", "Show everything again"),
)

FORM = (
    Action("form.run", ("enter", "ctrl+r"), "run", "Check the values and run"),
    Action("form.previous", ("up",), "field above", "Go to the field above"),
    Action("form.next", ("down",), "field below", "Go to the field below"),
    Action("form.next_group", ("pagedown",), "next group", "Go to the next group of fields"),
    Action("form.previous_group", ("pageup",), "group before", "Go to the group of fields before", footer=False),
    Action("form.close", ("escape",), "close", "Leave the form as it was"),
)

JOBS = (
    Action("jobs.up", ("up", "k"), "up", "Select the job above", footer=False),
    Action("jobs.down", ("down",), "down", "Select the job below", footer=False),
    Action("jobs.open", ("enter",), "open", "Open the selected job on its screen", "filled"),
    Action("jobs.cancel", ("ctrl+x",), "cancel", "Stop the selected job, after a question", "can_cancel"),
    Action("jobs.close", ("escape", "j"), "close", "Back to the screen"),
)

HELP = (Action("help.close", ("escape", "question_mark", "q"), "close", "Back to the screen"),)

CONFIRM = (
    Action("confirm.yes", ("y",), "yes", "Do it"),
    Action("confirm.no", ("n", "escape"), "no", "Leave it as it is"),
)

TEXT = (Action("text.close", ("escape", "q"), "close", "Back to the screen"),)

APP = (
    *(
        Action(f"app.{section}", (str(place),), title, f"Go to {title}", footer=False, call=f"show('{section}')")
        for place, (section, title) in enumerate(SECTIONS.items(), start=1)
    ),
    Action("app.jobs", ("j",), "jobs", "Show the jobs that run or wait"),
    Action("app.palette", ("ctrl+p",), "palette", "Find any action that applies now", call="command_palette", footer=False),
    Action("app.help", ("question_mark",), "keys", "Show every key of this screen", call="keys"),
    Action("app.quit", ("q",), "leave", "Leave the program; jobs go on", call="leave"),
)

ACTIONS: tuple[Action, ...] = (
    *HARDWARE,
    *MODELS,
    *GRAPH,
    *RESULT,
    *CHOICE,
    *TRAIN,
    *OVERLAY,
    *WATCH,
    *BOARD,
    *WATCH_MORE,
    *CONVERT,
    *LAB,
    *EXPERIMENTS,
    *FORM,
    *PICKER,
    *SEARCH,
    *JOBS,
    *HELP,
    *CONFIRM,
    *TEXT,
    *APP,
)
BY_ID: dict[str, Action] = {action.id: action for action in ACTIONS}

KEY_NAMES = {
    "question_mark": "?",
    "slash": "/",
    "equals_sign": "=",
    "plus": "+",
    "minus": "-",
    "escape": "esc",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "page up",
    "pagedown": "page down",
}


def actions_of(scope: str) -> list[Action]:
    """The actions of a section, a dialog or the app, in their order."""
    return [action for action in ACTIONS if action.scope == scope]


def bindings(scope: str) -> list[Binding]:
    """Textual's bindings for a scope: `BINDINGS = bindings("train")`."""
    return [
        Binding(",".join(action.keys), action.textual_action, action.label, show=action.footer, tooltip=action.help, id=action.id)
        for action in actions_of(scope)
    ]


def applies(node: DOMNode, scope: str, method: str) -> bool:
    """Whether the action of this scope with this method applies to `node` now; for `check_action`."""
    for action in actions_of(scope):
        if action.method == method and action.when:
            return bool(getattr(node, action.when))
    return True


def key_name(key: str) -> str:
    """A key as people write it."""
    return KEY_NAMES.get(key, key)
