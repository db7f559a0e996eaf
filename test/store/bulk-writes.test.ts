import type { NodeReport } from '../../src/redis/connection/node-report';
import { BulkWrites } from '../../src/redis/autocomplete/bulk-writes';
import { ManualClock } from '../support/manual-clock';

const MIB = 2 ** 20;
const KEY = 'holdfast:{d1}:d:meta:people';

function setUp(facts: Partial<NodeReport> | undefined) {
  const node = { facts };
  const clock = new ManualClock();
  const commands = { reportOf: (key: string) => (key === KEY ? (node.facts as NodeReport) : undefined) };
  return { node, clock, writes: new BulkWrites(commands, clock) };
}

test('admits a write while memory and replicas allow it, and without a report', async () => {
  await setUp({ memoryShare: 0.79, replicaLagBytes: 8 * MIB }).writes.admit(KEY);
  await setUp(undefined).writes.admit(KEY);
});

test('refuses a write when Redis uses 80 % of its memory', async () => {
  const { writes } = setUp({ memoryShare: 0.8, replicaLagBytes: 0 });
  await expect(writes.admit(KEY)).rejects.toMatchObject({ carriedOut: 'no', kind: 'full' });
});

test('lets a write wait until the replicas lack at most 8 MiB', async () => {
  const { node, clock, writes } = setUp({ memoryShare: 0, replicaLagBytes: 8 * MIB + 1 });
  let isAdmitted = false;
  const admitted = writes.admit(KEY).then(() => (isAdmitted = true));
  for (let n = 0; n < 20; n += 1) {
    await clock.advance(250);
  }
  expect(isAdmitted).toBe(false);
  node.facts = { memoryShare: 0, replicaLagBytes: 8 * MIB };
  await clock.advance(250);
  await admitted;
});

test('refuses a write if the replicas stay behind for a minute', async () => {
  const { clock, writes } = setUp({ memoryShare: 0, replicaLagBytes: 9 * MIB });
  const refused = expect(writes.admit(KEY)).rejects.toMatchObject({ carriedOut: 'no', kind: 'unavailable' });
  for (let n = 0; n < 241; n += 1) {
    await clock.advance(250);
  }
  await refused;
});
