"""One random configuration: it is taken, or refused by name, and a secret is said in no case."""

from pathlib import Path

import msgspec

from tests.properties.settings_soup import SECRET, Document
from tests.support.promises import require
from tokenmill.config import Config, load_config
from tokenmill.errors import ConfigError
from tokenmill.formats import compile_grammar
from tokenmill.parser import read_options


def check_document(path: Path, document: Document) -> None:
    """Read it by way of the file `path`. Raises `promises.Broken`, or whatever reading raises that it should not."""
    path.write_bytes(document.data)
    try:
        config = load_config(path, dict(document.variables))
    except ConfigError as error:
        _refused(path, document, error)
    else:
        require(not document.unknown, f"{sorted(document.unknown)} went through")
        _taken(config)


def _refused(path: Path, document: Document, error: ConfigError) -> None:
    told = str(error)
    require(SECRET not in told, f"a secret is told: {told}")
    require(error.problems, "refused for nothing")
    for problem in error.problems:
        key, colon, sentence = problem.removeprefix(str(path)).partition(": ")
        require(colon and sentence.strip(), f"a problem without a key or a sentence: {problem!r}")
        require(key or problem.startswith(str(path)), f"nothing is named: {problem!r}")
    for key in document.unknown:
        require(any(problem.startswith(f"{key}: ") for problem in error.problems), f"{key} is not named in {told}")


def _taken(config: Config) -> None:
    shown = repr(config)
    require(SECRET not in shown, f"a secret is shown: {shown}")
    again = msgspec.convert(msgspec.to_builtins(config), Config)
    require(again == config, "the settings are not of their types")
    options = read_options(msgspec.structs.asdict(config.parser.options))  # as every message would have to
    require(compile_grammar(options, config.limits), "the options are no grammar")
