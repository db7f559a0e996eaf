"""Suggests words while somebody types. Each line of stdin is the text after one more key.

python examples/python/type_ahead.py fruits --import examples/fruits.txt
"""

import asyncio
import sys
import threading
from typing import Optional

import holdfast
from holdfast import aio

from arguments import read_arguments, say

given = read_arguments(import_="", servers="127.0.0.1:50051", debounce_ms=30)


async def import_file(dictionary: aio.Dictionary) -> None:
    """Replaces all entries. Reads the file as fast as the server takes the lines."""
    with open(given.import_, encoding="utf-8") as lines:
        texts = filter(None, map(str.strip, lines))
        info = await dictionary.import_entries(holdfast.Entry(text, text) for text in texts)
    say(f"imported {info.entry_count} entries")


async def show(field: aio.TypeAhead, text: str) -> None:
    suggestions = await field.type(text)
    if suggestions is not None:  # None: superseded by a newer text
        say(f"{text}: {', '.join(one.text for one in suggestions) or 'nothing'}")


def read(loop: asyncio.AbstractEventLoop, texts: "asyncio.Queue[Optional[str]]") -> None:
    for line in sys.stdin:
        loop.call_soon_threadsafe(texts.put_nowait, line.rstrip("\n"))
    loop.call_soon_threadsafe(texts.put_nowait, None)


async def main() -> None:
    async with aio.connect(given.servers) as hf:
        dictionary = hf.dictionary(given.name)
        if given.import_:
            await import_file(dictionary)
        texts: asyncio.Queue[Optional[str]] = asyncio.Queue()
        reading = [asyncio.get_running_loop(), texts]
        threading.Thread(target=read, args=reading, daemon=True).start()
        async with dictionary.type_ahead(debounce=given.debounce_ms / 1000, limit=5) as field:
            last = asyncio.create_task(asyncio.sleep(0))
            while (text := await texts.get()) is not None:
                last = asyncio.create_task(show(field, text))
            await last


try:
    asyncio.run(main())
except holdfast.HoldfastError as error:
    sys.exit(f"failed: {error}")
