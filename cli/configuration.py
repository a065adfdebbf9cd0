"""Options from flags, environment variables and a TOML file, of which the first that sets one wins.

ConfigArgParse merges the three. `ConfiguredParser` adds to it that keys and values of the file are
checked strictly, that a wrong value is refused with the place that it comes from, and that the
declarations can be listed: `croupier config` and the docs read them.
"""

import argparse
import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TextIO

import configargparse

from croupier.terminal.arguments import Exact, declared, path

PREFIX = "CROUPIER_"  # Of the environment variables.
MAX_FILE = 1 << 20  # Characters. A device has no end.
_WORDS = ("true", "yes", "on", "1", "false", "no", "off", "0")  # As ConfigArgParse reads them.


class Option(NamedTuple):
    """An option as it is declared."""

    action: argparse.Action
    group: str
    meaning: str
    default: str  # For readers.

    @property
    def flag(self) -> str:
        """The flag, such as "--listen"."""
        return self.action.option_strings[0]

    @property
    def key(self) -> str:
        """The key in the file, such as "listen"."""
        return self.flag.removeprefix("--")

    @property
    def variable(self) -> str:
        """The environment variable, such as "CROUPIER_LISTEN"."""
        return PREFIX + self.key.replace("-", "_").upper()


class ConfiguredParser(Exact, configargparse.ArgumentParser):  # type: ignore[misc]
    """A parser whose options may also be set by environment variables and a file.

    This holds for the options that `add_options` declares; others are those of argparse.
    """

    def __init__(self, **settings: Any) -> None:
        self.options: list[Option] = []
        self.arguments: Sequence[str] | None = None  # That were parsed last.
        self._sources: dict[str | None, str] = {}
        self._file = _TomlFile(self.options)
        super().__init__(
            config_file_parser_class=self._file,
            config_file_open_func=partial(open, encoding="utf-8"),
            # Otherwise an abbreviated flag would not be seen to override the other sources.
            allow_abbrev=False,
            exit_on_error=False,
            **settings,
        )

    def add_file_option(self) -> None:
        """Declares --config, which names the file."""
        self.add_argument(
            "--config",
            metavar="FILE",
            type=path,
            is_config_file_arg=True,
            env_var=PREFIX + "CONFIG",
            help="a TOML file with options",
        )

    def add_options(
        self, title: str, text: str, types: Mapping[str, Any], more: Mapping[str, Any]
    ) -> None:
        """Declares a group of options, as `declared` reads them.

        A default of true or false makes a boolean option with a flag --no-...
        """
        group = self.add_argument_group(title)
        for (flag,), meaning, otherwise, settings in declared(text, types, more):
            default = settings.pop("default", None)
            shown = otherwise or default
            if default in ("true", "false") and "metavar" not in settings:
                default = default == "true"
                settings["action"] = argparse.BooleanOptionalAction
            told = f"{meaning} (default: {shown})".replace("%", "%%")
            action = group.add_argument(flag, help=told, **settings)
            # Afterwards, as some Pythons write it into the help of a boolean option once more.
            action.default = default
            option = Option(action, title, meaning, shown)
            action.env_var = option.variable
            self.options.append(option)

    def source(self, option: Option) -> str:
        """Says what has set an option when the parser ran."""
        if found := self._sources.get(_name(option.action)):
            return found
        _, arguments = self.get_source_to_settings_dict().get("command_line", {}).get("", (0, []))
        flags = option.action.option_strings
        given = configargparse.already_on_command_line(arguments, flags, self.prefix_chars)
        return "flag" if given else "default"

    def unknown_variables(self, environment: Mapping[str, str] = os.environ) -> Iterable[str]:
        """Yields a warning for each environment variable that looks like an option and is none."""
        others = (PREFIX + "CONFIG", PREFIX + "API_KEY")  # The second one is for other commands.
        known = {*others, *(option.variable for option in self.options)}
        for name in sorted(environment):
            if name.startswith(PREFIX) and name not in known:
                yield f"the environment variable {name} is not an option{_similar(name, known)}"

    # What follows refines ConfigArgParse.

    def parse_known_args(  # type: ignore[no-untyped-def]
        self, args=None, namespace=None, env_vars=os.environ, **settings
    ):
        # An empty variable counts as none: composed files can hardly leave one out.
        given = {name: value for name, value in env_vars.items() if value}
        self._sources.clear()
        self.arguments = None if args is None else tuple(args)
        try:
            return super().parse_known_args(args, namespace, env_vars=given, **settings)
        except argparse.ArgumentError as error:
            source = self._sources.get(error.argument_name)
            self.error(f"{error} ({source})" if source else str(error))

    def get_possible_config_keys(self, action: argparse.Action) -> list[str]:
        return [option.key for option in self.options if option.action is action]

    def convert_item_to_command_line_arg(
        self, action: argparse.Action, key: str, value: str | list[str]
    ) -> list[str]:
        from_file = key != action.env_var  # type: ignore[attr-defined]
        source = f"{key} in {self._file.name}" if from_file else f"environment variable {key}"
        self._sources[_name(action)] = source
        if isinstance(action, argparse.BooleanOptionalAction):
            if str(value).lower() not in _WORDS:
                raise argparse.ArgumentError(action, f"{value!r} is neither true nor false")
        elif isinstance(value, list) and not isinstance(action.default, list):
            raise argparse.ArgumentError(action, "it takes one value, not a list")
        elif not value and not from_file:
            # ConfigArgParse would go on to the list of the file.
            raise argparse.ArgumentError(action, "an empty list: leave the variable out")
        converted: list[str] = super().convert_item_to_command_line_arg(action, key, value)
        return converted


class _TomlFile(configargparse.ConfigFileParser):  # type: ignore[misc]
    """Reads a file whose keys are options."""

    def __init__(self, options: Sequence[Option]) -> None:
        self.name = ""  # Of the file that was read last.
        self._options = options

    def get_syntax_description(self) -> str:
        return (
            "The file is in TOML: a key for each option, without the dashes, and a list for an "
            "option that may be repeated. In an environment variable such a list is written as "
            'in JSON: ["a", "b"].'
        )

    def parse(self, stream: TextIO) -> dict[str, str | list[str]]:
        self.name = stream.name
        try:
            text = stream.read(MAX_FILE + 1)
            if len(text) > MAX_FILE:
                raise self._refusal("it is too long for a file of options")
            items = tomllib.loads(text)
        except RecursionError:
            raise self._refusal("it is nested too deeply") from None
        except ValueError as error:
            raise self._refusal(str(error)) from None
        known = [option.key for option in self._options]
        for key, value in items.items():
            if key not in known:
                raise self._refusal(f"{key} is not an option{_similar(key, known)}")
            if isinstance(value, dict):
                raise self._refusal(f"[{key}] is a table, and no option is one")
        return {
            key: [str(each) for each in value] if isinstance(value, list) else str(value)
            for key, value in items.items()
        }

    def _refusal(self, text: str) -> Exception:
        refusal: Exception = configargparse.ConfigFileParserException(f"{self.name}: {text}")
        return refusal


def _name(action: argparse.Action) -> str:
    return "/".join(action.option_strings)  # As ArgumentError has it.


def _similar(name: str, known: Iterable[str]) -> str:
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""
