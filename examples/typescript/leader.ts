/**
 * Follows the leaders of an election. With `--value` the process is a candidate too.
 *
 *     npm run leader -- scheduler --value 10.0.0.7:8080
 */
import { once } from 'node:events';
import { connect, LeaseLostError, type Election } from '@holdfast/client';
import { failed, readArguments } from './program';

const given = readArguments('leader', { value: '', servers: '127.0.0.1:50051', 'ttl-ms': '10000' });
const stop = new AbortController();
// Not `once`: Ctrl-C under npm gives two signals.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort());

async function observe(election: Election): Promise<void> {
  for await (const leader of election.observe({ signal: stop.signal })) {
    console.log(leader ? `leader: ${leader.value} under token ${leader.fencingToken}` : 'leader: none');
  }
}

async function campaign(election: Election): Promise<void> {
  try {
    const options = { ttl: Number(given['ttl-ms']), signal: stop.signal };
    await election.lead(given.value, options, async (lease) => {
      console.log(`elected under token ${lease.fencingToken}`);
      // The work of a leader ends on both signals.
      const signal = AbortSignal.any([stop.signal, lease.signal]);
      if (!signal.aborted) await once(signal, 'abort');
    });
    console.log('resigned');
  } finally {
    stop.abort(); // ends `observe`
  }
}

async function main(): Promise<void> {
  const hf = await connect(given.servers);
  try {
    const election = hf.election(given.name);
    await Promise.all([observe(election), given.value === '' ? undefined : campaign(election)]);
  } catch (error) {
    if (error === stop.signal.reason) return; // it was a candidate
    if (!(error instanceof LeaseLostError)) throw error;
    console.log(`lease lost: ${error.lossCause}, stopping`);
    process.exitCode = 3;
  } finally {
    await hf.close();
  }
}

main().catch(failed);
