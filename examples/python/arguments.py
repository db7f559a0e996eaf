"""The command line of the examples, NAME --option VALUE …, their output, and their end."""

import argparse
import logging
import signal
import sys
from typing import Callable, NoReturn, Union

import holdfast


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


def run(main: Callable[[], int]) -> NoReturn:
    """Ends the process with the code of main, with 0 after a signal, or with 1 after an error."""
    logging.basicConfig(level=logging.INFO)  # the client tells which server renews the lease
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(0)
    except (holdfast.HoldfastError, OSError) as error:  # OSError: the ledger does not answer
        sys.exit(f"failed: {error}")
