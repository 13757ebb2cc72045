"""What several commands share: the configuration, and options of a message, from the command line."""

import logging
import os
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from click.core import ParameterSource

from tokenmill.config import Config, load_config
from tokenmill.config.read import PREFIX
from tokenmill.errors import NOT_JSON, ConfigError
from tokenmill.parser import options_key, read_options

Function = TypeVar("Function", bound=Callable[..., Any])

R = TypeVar("R")


def config_file(function: Function) -> Function:
    """Add `--config FILE`, for a command that may not need it."""
    return click.option(
        "--config",
        "config_path",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="Configuration file (TOML); by default the one that TOKENMILL_CONFIG names.",
    )(function)


def config_option(function: Callable[..., R]) -> Callable[..., R]:
    """Add `--config FILE`, and pass on the `config`."""
    return config_file(_configured(function))


def kafka_options(function: Callable[..., R]) -> Callable[..., R]:
    """Add `--config FILE` and `--bootstrap HOST:PORT`, and pass on the `config`."""
    bootstrap = click.option("--bootstrap", metavar="HOST:PORT", help="Kafka's address, instead of the configured one.")
    return config_file(bootstrap(_configured(function)))


def _configured(function: Callable[..., R]) -> Callable[..., R]:
    @wraps(function)
    def read(*, config_path: Path | None, bootstrap: str | None = None, **others: Any) -> R:
        return function(config=configuration(config_path, bootstrap), **others)

    return read


def message_options(function: Function) -> Function:
    """Add `--format`, `--tools` and `--open`: the options of a message."""
    for option in (
        click.option(
            "--open",
            "pairs",
            metavar="KEY=VALUE",
            multiple=True,
            help="Any other option; VALUE may be JSON. Repeatable.",
        ),
        click.option(
            "--tools",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help="File with the tools that the model was given: a JSON list in OpenAI's form.",
        ),
        click.option(
            "--format",
            "format_name",
            metavar="NAME",
            help="Format that the model writes; `tokenmill formats` lists them.",
        ),
    ):
        function = option(function)
    return function


def refuse_unused(unused: Mapping[str, Collection[str]]) -> None:
    """Raise `click.UsageError` for an option that has no effect beside another one: it is a misunderstanding.

    `unused` has, for a parameter, those that have no effect beside it.
    """
    context = click.get_current_context()
    options = {option.name or "": option.opts[0] for option in context.command.get_params(context)}
    for mode, others in unused.items():
        for name, said in options.items():
            given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
            if context.params[mode] and given and name in others:
                raise click.UsageError(f"{said} has no effect with {options[mode]}")


def need_tools() -> None:
    """Raise `ConfigError` if the protocol's SDK is not installed."""
    if find_spec("mcp") is None:
        raise ConfigError(["tools need the protocol's SDK: pip install 'tokenmill[tools]'"])


def configuration(config_path: Path | None, bootstrap: str | None = None) -> Config:
    """Return the configuration, with another Kafka if one is given. Raises `ConfigError`."""
    given = {} if bootstrap is None else {f"{PREFIX}KAFKA__BOOTSTRAP_SERVERS": bootstrap}
    return load_config(config_path, os.environ | given)


def quiet_kafka() -> None:
    """Silence aiokafka's log: a command reports a missing broker or a new topic in one sentence, if at all."""
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


def opening(format_name: str | None, tools: Path | None, pairs: Sequence[str]) -> dict[str, Any]:
    """Return the `open` field for these options, checked. Raises `BadOpen` and `click.BadParameter`."""
    values = dict(_pair(pair) for pair in pairs)
    if format_name is not None:
        names = format_name.split(",")
        values["format"] = names if len(names) > 1 else names[0]
    if tools is not None:
        values["tools"] = _json_file(tools)
    options_key(read_options(values))
    return values


def _pair(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not KEY=VALUE", param_hint="--open")
    try:
        value.encode()
        return key, msgspec.json.decode(value)
    except msgspec.DecodeError:
        return key, value
    except (UnicodeEncodeError, RecursionError) as problem:
        raise click.BadParameter(f"{key!r} has a value that can't be read: {problem}", param_hint="--open") from problem


def _json_file(path: Path) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes().removeprefix(BOM_UTF8))
    except NOT_JSON as problem:
        raise click.BadParameter(f"{path} is not JSON: {problem}", param_hint="--tools") from problem
