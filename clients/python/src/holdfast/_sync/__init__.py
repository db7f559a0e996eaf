"""The sync face: the engine of asyncio in a background thread."""
