"""The program's colours: every one an exact xterm-256 entry, so that a terminal without true colour shows the same."""

from dataclasses import replace

from textual.theme import BUILTIN_THEMES, Theme

# Curves beside the first one, which has the primary colour.
SERIES = {
    "series-2": "#d7af87",
    "series-3": "#87d787",
    "series-4": "#d787d7",
    "series-5": "#ff875f",
    "series-6": "#d7d75f",
    "series-7": "#afafff",
    "series-8": "#bcbcbc",
}

# Greys have R=G=B: other greys turn blue or teal when a terminal rounds them to 256 colours.
DARK = Theme(
    name="explorer-dark",
    primary="#5fafd7",
    secondary="#87afaf",
    accent="#5fafd7",
    foreground="#d0d0d0",
    background="#121212",
    surface="#1c1c1c",
    panel="#262626",
    boost="#303030",
    success="#87af5f",
    warning="#d7af5f",
    error="#ff5f5f",
    variables={
        "muted": "#8a8a8a",
        "rule": "#444444",
        "faint": "#585858",
        **SERIES,
        "border": "#444444",
        "border-blurred": "#303030",
        "block-cursor-background": "#303030",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "bold",
        "block-hover-background": "#262626",
        "input-cursor-background": "#d0d0d0",
        "input-cursor-foreground": "#121212",
        "input-selection-background": "#005f87",
        "scrollbar": "#444444",
        "scrollbar-hover": "#585858",
        "scrollbar-active": "#5fafd7",
        "scrollbar-background": "#121212",
        "scrollbar-background-hover": "#121212",
        "scrollbar-background-active": "#121212",
        "scrollbar-corner-color": "#121212",
        "text-muted": "#8a8a8a",
        "text-disabled": "#626262",
    },
)

# Under NO_COLOR only a theme of the terminal's own colours sends no colour codes at all.
ANSI = BUILTIN_THEMES["ansi-dark"]
PLAIN = replace(
    ANSI,
    name="explorer-plain",
    variables=ANSI.variables
    | {"muted": "ansi_default", "rule": "ansi_bright_black", "faint": "ansi_bright_black", "block-cursor-text-style": "reverse"}
    | dict(zip(SERIES, (f"ansi_{name}" for name in ("yellow", "green", "magenta", "red", "cyan", "blue", "white")), strict=True)),
)

# Variables of our own, for themes that do not set them.
OWN_VARIABLES = {"muted": "#8a8a8a", "rule": "#444444", "faint": "#585858"} | SERIES
