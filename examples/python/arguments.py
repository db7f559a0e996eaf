"""The command line of the examples, NAME --option VALUE …, and their output."""

import argparse
from typing import Union


def read_arguments(**defaults: Union[str, int]) -> argparse.Namespace:
    """An option for each default. Wrong arguments end the process with exit code 2."""
    parser = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("name")
    for name, default in defaults.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        parser.add_argument(option, dest=name, default=default, type=type(default), help=" ")
    return parser.parse_args()


def say(text: str) -> None:
    """Prints a line at once, also into a pipe."""
    print(text, flush=True)
