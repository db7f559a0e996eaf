"""Runs jobs, and at most `--limit` jobs of all processes with the same NAME at a time.

python examples/python/pool.py thumbnails --holder alice
"""

import asyncio
import os
import sys

import holdfast
from holdfast import aio

from arguments import read_arguments, say

given = read_arguments(
    holder=f"pool-{os.getpid()}",
    servers="127.0.0.1:50051",
    jobs=6,
    limit=2,
    ttl_ms=10_000,
    job_ms=1_000,
)


async def run_job(hf: aio.Holdfast, job: str) -> bool:
    """False: the permit was lost during the job, and the block was cancelled."""
    try:
        async with hf.permits(given.name, limit=given.limit, ttl=given.ttl_ms / 1000) as lease:
            say(f"{job} begins under token {lease.fencing_token}")
            await asyncio.sleep(given.job_ms / 1000)
            lease.check()
            say(f"{job} ends")  # the end of the block gives the permit back
        return True
    except holdfast.LeaseLost as lost:
        say(f"{job} lost its permit: {lost.loss_cause.value}")
        return False


async def main() -> int:
    async with aio.connect(given.servers, holder_id=given.holder) as hf:
        jobs = [f"{given.holder}: job {number + 1}" for number in range(given.jobs)]
        done = sum(await asyncio.gather(*(run_job(hf, job) for job in jobs)))
        say(f"{given.holder}: {done} jobs done")
        return 0 if done == given.jobs else 3


try:
    sys.exit(asyncio.run(main()))
except holdfast.HoldfastError as error:
    sys.exit(f"failed: {error}")
