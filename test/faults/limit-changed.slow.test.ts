import { leaseKeys } from '../../src/leases/redis/lease-keys';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import type { LoadTask } from './load';
import { PREFIX } from './observer';
import { runScenario, type Scenario } from './scenario';
import { runsOf, type ScriptKind } from './script-commands';

const LOAD_MS = 5000;
/** The load delays messages, because several busy processes share two cores. */
const CHECKS = { latencyUs: 1_000_000 };

/** Server 0 stays up. Server 1 reaches Redis through a proxy that cuts connections. Tests kill servers 2 and 3. */
let fleet: Fleet;

beforeAll(async () => {
  const redisProxy = true;
  fleet = await Fleet.start({ members: [{}, { redisProxy }, { redisProxy }, { redisProxy }] });
});

afterAll(() => fleet?.close());

/** Matches the runs of a script for one semaphore. */
function runsFor(kind: ScriptKind, name: string) {
  return runsOf(kind, leaseKeys(PREFIX, { service: 'semaphore', name })[0]);
}

/** Clients that acquire and release without pause, at server 0 and at a server that a test may kill. */
async function underLoad(scenario: Scenario, name: string, index: number): Promise<ClientProcess> {
  const task: LoadTask = {
    call: 'load',
    client: `load at ${index}`,
    clientCount: 12,
    addresses: [fleet.member(0).address, fleet.member(index).address],
    service: 'semaphore',
    name,
    mostPermits: 4,
    sharedPercent: 0,
    seed: index,
    forMs: LOAD_MS,
  };
  const clients = await ClientProcess.start(scenario, task);
  await clients.said('granted');
  return clients;
}

test.concurrent('a limit change is made exactly once when its command or its reply is lost', () =>
  runScenario({ fleet, title: 'lost limit', ...CHECKS }, async (scenario) => {
    const name = await scenario.semaphore('permits', 10);
    const clients = await underLoad(scenario, name, 1);
    const { redisProxy } = fleet.member(1);
    const operator = scenario.operator('operator', fleet.member(1));
    let limit = 10;
    for (const next of [4, 12, 0, 6]) {
      const matches = runsFor('limit', name);
      const lost = next < limit ? redisProxy.dropNextReply(matches) : redisProxy.dropNextRequest(matches);
      const end = scenario.fault('reply_dropped', `the reply or command of limit ${next}`, { names: [name] });
      // The server repeats the command. After a lost reply, `limit` is no longer in force.
      expect(await operator.setLimit(name, next, limit)).toEqual([]);
      await lost.then(end);
      expect((await scenario.observer.read(name)).limit).toBe(next);
      limit = next;
    }
    await expect(operator.setLimit(name, 8, 10)).rejects.toMatchObject({
      ending: { reason: 'LIMIT_MISMATCH', metadata: { limit: '6', expected_limit: '10' } },
    });
    await clients.finished(LOAD_MS + 15_000);
  }),
);

test.concurrent.each([
  { what: 'before Redis received the command', index: 2, isDone: false },
  { what: 'after Redis ran the command', index: 3, isDone: true },
])('a limit change succeeds at another server when its server is killed $what', ({ what, index, isDone }) =>
  runScenario({ fleet, title: `killed ${what}`, ...CHECKS }, async (scenario) => {
    const name = await scenario.semaphore('permits', 10);
    const clients = await underLoad(scenario, name, index);
    const { redisProxy, server } = fleet.member(index);
    const operator = scenario.operator('operator', fleet.member(index));
    const matches = runsFor('limit', name);
    const change = operator.setLimit(name, 4, 10);
    await (isDone ? redisProxy.dropNextReply(matches) : redisProxy.dropNextRequest(matches));
    scenario.instant('server_killed', what);
    await server.kill();
    expect(await change).toEqual(['UNAVAILABLE']);
    expect((await scenario.observer.read(name)).limit).toBe(4);
    expect(await scenario.operator('another', fleet.member(0)).setLimit(name, 7, 4)).toEqual([]);
    await clients.finished(LOAD_MS + 15_000);
  }),
);
