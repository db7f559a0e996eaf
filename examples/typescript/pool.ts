/**
 * Runs jobs, and at most `--limit` jobs of all processes with the same NAME at a time.
 *
 *     npm run pool -- thumbnails --holder alice
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, LeaseLostError, type Holdfast } from '@holdfast/client';
import { failed, readArguments } from './program';

const given = readArguments('pool', {
  holder: `pool-${process.pid}`,
  servers: '127.0.0.1:50051',
  jobs: '6',
  limit: '2',
  'ttl-ms': '10000',
  'job-ms': '1000',
});

/** Resolves with false if the permit was lost during the job. */
async function runJob(hf: Holdfast, job: string): Promise<boolean> {
  const options = { limit: Number(given.limit), ttl: Number(given['ttl-ms']) };
  try {
    await hf.withPermits(given.name, options, async (lease) => {
      console.log(`${job} begins under token ${lease.fencingToken}`);
      await sleep(Number(given['job-ms']), undefined, { signal: lease.signal });
      lease.check();
      console.log(`${job} ends`); // withPermits gives the permit back afterwards
    });
    return true;
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    console.log(`${job} lost its permit: ${error.lossCause}`);
    return false;
  }
}

async function main(): Promise<void> {
  const hf = await connect(given.servers, { holderId: given.holder });
  try {
    const jobs = Array.from({ length: Number(given.jobs) }, (_, i) => `${given.holder}: job ${i + 1}`);
    const results = await Promise.all(jobs.map((job) => runJob(hf, job)));
    const done = results.filter((isDone) => isDone).length;
    console.log(`${given.holder}: ${done} jobs done`);
    if (done < jobs.length) process.exitCode = 3;
  } finally {
    await hf.close();
  }
}

main().catch(failed);
