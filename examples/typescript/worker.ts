/**
 * Works in small steps under a lock, and writes each step to a store that checks the fencing token.
 *
 *     npm run worker -- report --holder alice
 */
import { Console } from 'node:console';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, LeaseLostError, type Lease, type LockOptions } from '@holdfast/client';
import { failed, readArguments, stopSignal } from './program';

const given = readArguments('worker', {
  holder: `worker-${process.pid}`,
  servers: '127.0.0.1:50051',
  ledger: 'http://127.0.0.1:8080',
  'ttl-ms': '10000',
  'step-ms': '1000',
});
const stop = stopSignal();

class RefusedError extends Error {}

async function write({ signal }: Lease, token: bigint, text: string): Promise<void> {
  const body = JSON.stringify({ token: Number(token), text });
  const response = await fetch(`${given.ledger}/${given.name}`, { method: 'POST', body, signal });
  const answer = await response.text();
  if (response.status === 409)
    throw new RefusedError(`ledger refused token ${token}: token ${answer} has written`);
  if (!response.ok) throw new Error(`the ledger answered ${response.status}: ${answer}`);
}

async function work(lease: Lease): Promise<void> {
  console.log(`granted: token ${lease.fencingToken}`);
  const signal = AbortSignal.any([stop, lease.signal]);
  for (let step = 1; !stop.aborted; step++) {
    const token = lease.fencingToken; // compares the clock, and throws a LeaseLostError after the deadline
    await write(lease, token, `${given.holder}: step ${step}`);
    console.log(`step ${step} under token ${token}`);
    await sleep(Number(given['step-ms']), undefined, { signal }).catch(() => undefined);
  }
}

async function main(): Promise<void> {
  const hf = await connect(given.servers, { holderId: given.holder, logger: new Console(process.stderr) });
  try {
    const options: LockOptions = {
      ttl: Number(given['ttl-ms']),
      signal: stop,
      onQueued: ({ position, waiterCount }) => console.log(`queued: place ${position} of ${waiterCount}`),
    };
    await hf.withLock(given.name, options, work);
    console.log('released');
  } catch (error) {
    if (error === stop.reason) return; // it was in the queue
    if (error instanceof LeaseLostError) console.log(`lease lost: ${error.lossCause}, stopping`);
    else if (error instanceof RefusedError) console.log(error.message);
    else throw error;
    process.exitCode = 3;
  } finally {
    await hf.close();
  }
}

main().catch(failed);
