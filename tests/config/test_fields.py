"""Configs: one set of rules for values from Python, the command line, TOML and JSON."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leads.config.fields import (
    Chosen,
    Config,
    Decay,
    Fraction,
    Layers,
    NonNegative,
    Positive,
    Share,
    at_least,
    build,
    checked,
    choose,
    defaults,
    fields,
    parse,
    plain,
)
from leads.config.registry import Registry
from leads.errors import UserError
from leads.methods import METHODS


@dataclass(frozen=True)
class RoundConfig(Config):
    radius: Positive[float] = 1.0
    """Radius of the wheel."""


@dataclass(frozen=True)
class SquareConfig(Config):
    side: Positive[float] = 2.0
    """Side of the wheel."""


class Round:
    Config = RoundConfig

    def __init__(self, config, *rest):
        self.config, self.rest = config, rest


class Square(Round):
    Config = SquareConfig


class Oval(Square):
    """Of another package."""


Alias = Oval
WHEELS = Registry("wheel", (), {"round": f"{__name__}:Round", "square": f"{__name__}:Square"})


@dataclass(frozen=True)
class CartConfig(Config):
    """A config with a field of every kind."""

    count: Positive[int] = 4
    """Number of wheels."""
    speed: float = 1.5
    """Speed."""
    load: Positive[float] | None = None
    """Load; none: measured."""
    brakes: bool = True
    """Whether it has brakes."""
    colour: Literal["red", "blue"] = "red"
    """Colour."""
    hidden: Layers = (8, 8)
    """Hidden layers."""
    share: Share[float] = 0.0
    """From 0 to 1."""
    fraction: Fraction[float] = 0.5
    """Between 0 and 1."""
    decay: Decay[float] = 0.0
    """Below 1."""
    spare: NonNegative[int] = 0
    """From 0."""
    seats: Annotated[int, at_least(2)] = 2
    """From 2."""
    wheel: Chosen = choose(WHEELS, "round")
    """Wheel."""

    def check(self) -> None:
        if self.spare > self.count:
            raise UserError(f"spare: {self.spare} is not allowed; give at most count, {self.count}")


@pytest.mark.parametrize(
    "changes, message",
    [
        ({"count": 0}, "count: 0 is not allowed; give a number above 0"),
        ({"count": 2.5}, "count: 2.5 is not a whole number"),
        ({"count": True}, "count: True is not a whole number"),
        ({"count": None}, "count: none is not a whole number"),
        ({"count": "none"}, "count: 'none' is not a whole number"),
        ({"speed": float("nan")}, "speed: nan is not a finite number"),
        ({"speed": 10**400}, r"speed: 1000"),
        ({"speed": 10**5000}, "speed: a number with thousands of digits is not a finite number"),
        ({"speed": "fast"}, "speed: 'fast' is not a finite number"),
        ({"speed": 500 * "fast"}, "speed: 'fastfast.*fast... is not a finite number"),
        ({"speed": np.zeros((3, 3))}, r"speed: array\(.*\) is not a finite number"),
        ({"count": 2**31}, "count: 2147483648 is not allowed; give a number up to 2,147,483,647"),
        ({"spare": 2**31}, "spare: 2147483648 is not allowed; give a number up to 2,147,483,647"),
        ({"hidden": (8, 2**31)}, r"hidden: \(8, 2147483648\) is not allowed; give sizes up to 2,147,483,647"),
        ({"load": -1}, "load: -1 is not allowed; give a number above 0"),
        ({"load": "much"}, "load: 'much' is not a finite number, or none"),
        ({"brakes": 1}, "brakes: 1 is not true or false"),
        ({"colour": "green"}, "colour: 'green' is not one of red, blue"),
        ({"hidden": ()}, r"hidden: \(\) is not allowed; give sizes above 0"),
        ({"hidden": (8, 0)}, r"hidden: \(8, 0\) is not allowed; give sizes above 0"),
        ({"hidden": (8, "x")}, r"hidden: \(8, 'x'\) is not numbers with commas between them"),
        ({"share": 1.1}, "share: 1.1 is not allowed; give a number from 0 to 1"),
        ({"fraction": 1}, "fraction: 1 is not allowed; give a number between 0 and 1"),
        ({"decay": 1}, "decay: 1 is not allowed; give a number from 0 to below 1"),
        ({"spare": -1}, "spare: -1 is not allowed; give a number from 0"),
        ({"spare": 5}, "spare: 5 is not allowed; give at most count, 4"),
        ({"seats": 1}, "seats: 1 is not allowed; give a number from 2"),
        ({"wheel": "oval"}, "wheel: 'oval' is unknown; allowed are round, square and MODULE:NAME"),
        ({"wheel": "nowhere:Oval"}, "wheel: nowhere:Oval cannot be imported"),
        ({"radius": 0}, "radius: 0 is not allowed; give a number above 0"),
        ({"wheel": "square", "radius": 1.0}, "radius: unknown field; allowed are count, .*, wheel, side"),
        ({"color": "red"}, "color: unknown field; allowed are count, .*, wheel, radius"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(changes, message):
    with pytest.raises(UserError, match=f"^{message}") as refused:
        build(CartConfig, changes)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", ["", "a\0b", 3, None, b"run", True])
def test_what_is_no_path_is_refused(value):
    with pytest.raises(UserError, match=r"^out: .* is not the path of a file or directory$"):
        checked("out", Path, value)


def test_a_path_is_taken_as_text_or_as_it_is():
    assert checked("out", Path, "runs/a") == checked("out", Path, Path("runs/a")) == Path("runs/a")
    assert parse("out", Path, ".") == Path(".")


def test_limits_hold_however_a_config_is_made():
    with pytest.raises(UserError, match=r"^count: 0 is not allowed"):
        CartConfig(count=0)


def test_numpy_numbers_lists_and_words_are_taken_for_what_they_are():
    given = {"count": np.int64(3), "speed": np.float32(0.5), "load": "none", "brakes": np.bool_(False)}
    config = build(CartConfig, given | {"hidden": [np.int32(4), 5], "share": 1})
    assert (config.count, config.speed, config.load, config.brakes) == (3, 0.5, None, False)
    assert config.hidden == (4, 5) and config.share == 1.0
    assert [type(value) for value in (config.count, config.speed, config.brakes, config.share)] == [
        int,
        float,
        bool,
        float,
    ]
    assert json.loads(json.dumps(plain(config)))["hidden"] == [4, 5]


@pytest.mark.parametrize(
    "name, text, value",
    [
        ("count", "3", 3),
        ("speed", "1e-3", 1e-3),
        ("load", "none", None),
        ("load", "2", 2.0),
        ("brakes", "false", False),
        ("brakes", "true", True),
        ("hidden", "16,8", (16, 8)),
        ("colour", "blue", "blue"),
    ],
)
def test_the_command_line_reaches_every_kind(name, text, value):
    assert parse(name, fields(CartConfig)[name].kind, text) == value


@pytest.mark.parametrize(
    "name, text", [("count", "3.0"), ("brakes", "yes"), ("hidden", "8,x"), ("speed", "inf"), ("colour", "")]
)
def test_words_that_are_no_value_are_refused(name, text):
    with pytest.raises(UserError, match=rf"^{name}: "):
        parse(name, fields(CartConfig)[name].kind, text)


def test_a_part_brings_its_own_fields():
    assert list(fields(CartConfig))[-2:] == ["wheel", "radius"]
    assert list(fields(CartConfig, {"wheel": "square"}))[-2:] == ["wheel", "side"]
    assert fields(CartConfig)["radius"].doc == "Radius of the wheel."
    config = build(CartConfig, {"wheel": "square", "side": 3})
    assert plain(config) == defaults(CartConfig, {"wheel": "square"}) | {"wheel": "square", "side": 3.0}
    assert build(CartConfig, plain(config)) == config != CartConfig()
    made = config.wheel.make("left")
    assert isinstance(made, Square) and made.config.side == 3.0 and made.rest == ("left",)


def test_a_part_may_be_a_class_or_a_name_of_another_module():
    assert build(CartConfig, {"wheel": Square, "side": 4}).wheel.name == "square"
    assert build(CartConfig, {"wheel": f"{__name__}:Square"}).wheel.name == "square"  # the package's own, by any name
    outside = build(CartConfig, {"wheel": f"{__name__}:Alias"})
    assert outside.wheel.part is Oval and outside.wheel.name == f"{__name__}:Alias", "as it was given"


@given(st.sampled_from(sorted(METHODS)))
def test_what_a_config_is_made_of_makes_it_again(name):
    of = METHODS.find(name).Config
    config = build(of, {})
    assert build(of, json.loads(json.dumps(plain(config)))) == config
    assert plain(config) == defaults(of)


def test_no_option_of_a_method_is_an_option_of_its_parts():
    """Names of a config and of its parts share one command line."""
    from leads.improvement import IMPROVEMENTS
    from leads.measures import MEASURES

    leads = METHODS.find("leads").Config
    own = {field.name for field in dataclasses.fields(leads)}
    for measure in MEASURES:
        for improve in IMPROVEMENTS:
            parts = [set(fields(r.find(n).Config)) for r, n in ((MEASURES, measure), (IMPROVEMENTS, improve))]
            assert not own & parts[0] and not own & parts[1] and not parts[0] & parts[1]
            assert set(fields(leads, {"measure": measure, "improve": improve})) == own.union(*parts)


@dataclass(frozen=True)
class ClashingConfig(CartConfig):
    radius: float = 2.0
    """The name of an option of the wheel."""


class Bare(CartConfig):
    axles: int = 2
    """A field that no dataclass has made one."""


def test_parts_with_options_of_one_name_are_refused():
    with pytest.raises(UserError, match=r"^radius: two parts have an option of this name; rename one$"):
        fields(ClashingConfig)
    assert list(fields(ClashingConfig, {"wheel": "square"}))[-1] == "radius"


def test_a_class_that_is_no_dataclass_is_read_as_far_as_it_is_one():
    assert "axles" not in fields(Bare) and fields(Bare)["count"].doc == "Number of wheels."
