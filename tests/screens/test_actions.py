"""The one list of keys."""

import re

from screens.actions import ACTIONS, BY_ID, SECTIONS, actions_of, bindings
from screens.app import ExplorerApp

# Keys that plain SSH terminals and tmux deliver: no alt, no function keys, no ctrl with h i j m q s z, no shift+enter.
DELIVERED = re.compile(
    r"[a-zA-Z0-9]|enter|escape|space|tab|up|down|left|right|pageup|pagedown|home|end|delete|backspace|ctrl\+[abcdefgklnoprtuvwxy]"
)
SIGNS = {
    "question_mark",
    "slash",
    "plus",
    "minus",
    "equals_sign",
    "comma",
    "full_stop",
    "left_square_bracket",
    "right_square_bracket",
}


def test_ids_are_unique() -> None:
    assert len(BY_ID) == len(ACTIONS)


def test_every_key_reaches_us_over_ssh() -> None:
    keys = [key for action in ACTIONS for key in action.keys]
    assert [key for key in keys if not DELIVERED.fullmatch(key) and key not in SIGNS] == []


def test_every_action_has_words() -> None:
    assert all(action.keys and action.label and action.help for action in ACTIONS)


def test_no_screen_takes_a_key_of_the_program() -> None:
    of_app = {key for action in actions_of("app") for key in action.keys}
    taken = [(action.id, key) for section in SECTIONS for action in actions_of(section) for key in action.keys if key in of_app]
    assert taken == []


def test_bindings_carry_id_and_help() -> None:
    found = {binding.id: binding for binding in bindings("train")}
    assert found["train.pause"].key == "space"
    assert found["train.pause"].tooltip == BY_ID["train.pause"].help


def test_sections_have_the_digits_in_order() -> None:
    assert [BY_ID[f"app.{section}"].keys for section in SECTIONS] == [(str(place),) for place in range(1, 7)]
    assert list(ExplorerApp.MODES) == list(SECTIONS)
