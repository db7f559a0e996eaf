import type { NodeReport } from '../../src/redis/node/report';
import { BulkWrites } from '../../src/autocomplete/redis/writes';
import { ManualClock } from '../support/manual-clock';

const MIB = 2 ** 20;
const KEY = 'holdfast:{d1}:d:meta:people';

function setUp(facts: Partial<NodeReport> | undefined) {
  const node = { facts };
  const clock = new ManualClock();
  const commands = { reportOf: (key: string) => (key === KEY ? (node.facts as NodeReport) : undefined) };
  return { node, clock, writes: new BulkWrites(commands, clock) };
}

test('admits a write while memory is free and no replica is far behind, and if there is no report', async () => {
  await setUp({ memoryShare: 0.79, replicaLagBytes: 8 * MIB })
    .writes.newCall()
    .admit(KEY);
  await setUp(undefined).writes.newCall().admit(KEY);
});

test('refuses a write when Redis uses 80 % of its memory', async () => {
  const { writes } = setUp({ memoryShare: 0.8, replicaLagBytes: 0 });
  await expect(writes.newCall().admit(KEY)).rejects.toMatchObject({ carriedOut: 'no', kind: 'full' });
});

test('lets a write wait until the replicas lack at most 8 MiB', async () => {
  const { node, clock, writes } = setUp({ memoryShare: 0, replicaLagBytes: 8 * MIB + 1 });
  let isAdmitted = false;
  const admitted = writes
    .newCall()
    .admit(KEY)
    .then(() => (isAdmitted = true));
  for (let n = 0; n < 20; n += 1) {
    await clock.advance(250);
  }
  expect(isAdmitted).toBe(false);
  node.facts = { memoryShare: 0, replicaLagBytes: 8 * MIB };
  await clock.advance(250);
  await admitted;
});

test('refuses a write if its call has waited 30 s for the replicas, with all chunks', async () => {
  const { node, clock, writes } = setUp({ memoryShare: 0, replicaLagBytes: 9 * MIB });
  const wait = async (count: number) => {
    for (let n = 0; n < count; n += 1) await clock.advance(250);
  };
  const call = writes.newCall();
  const first = call.admit(KEY);
  await wait(60);
  node.facts = undefined;
  await wait(1);
  await first;
  node.facts = { memoryShare: 0, replicaLagBytes: 9 * MIB };
  let isRefused = false;
  const refused = expect(call.admit(KEY)).rejects.toMatchObject({ carriedOut: 'no', kind: 'overloaded' });
  const settled = refused.then(() => (isRefused = true));
  await wait(58);
  expect(isRefused).toBe(false);
  await wait(1);
  await settled;
});
