"""The numbers of all clients are the same."""

import json
import pathlib
import unittest

from holdfast._core import numbers

SHARED = pathlib.Path(__file__).parents[2] / "numbers.json"


def own_name(name: str) -> str:
    return name[: -len("_ms")].upper() if name.endswith("_ms") else name.upper()


class Numbers(unittest.TestCase):
    def test_they_are_those_of_the_other_clients(self) -> None:
        shared = json.loads(SHARED.read_text())
        for group in shared.values():
            for name, value in group.items():
                with self.subTest(name):
                    own = getattr(numbers, own_name(name))
                    if isinstance(value, list):
                        self.assertEqual(sorted(own), sorted(value))
                    else:
                        self.assertEqual(own, value / 1000 if name.endswith("_ms") else value)

    def test_each_own_number_is_shared(self) -> None:
        shared = json.loads(SHARED.read_text())
        names = {own_name(name) for group in shared.values() for name in group}
        self.assertEqual({name for name in vars(numbers) if name.isupper()}, names)
