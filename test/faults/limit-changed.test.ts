import { permitsKeys } from '../../src/redis/keys';
import { ClientProcess } from './client-process';
import { Fleet } from './fleet';
import type { LoadTask } from './load';
import { PREFIX } from './observer';
import { runScenario, type Scenario } from './scenario';
import { runsOf, type ScriptKind } from './script-commands';

const LOAD_MS = 5000;
/** Two cores, and as many processes that have much to do as there are here, keep messages waiting. */
const CHECKS = { latencyUs: 1_000_000 };

/** Server 0 stays; 1 reaches Redis through a proxy that cuts, 2 through one that cuts it off; 3 and 4 are killed. */
let fleet: Fleet;

beforeAll(async () => {
  const redisProxy = true;
  const env = { HOLDFAST_COMMAND_TIMEOUT: '600ms' };
  fleet = await Fleet.start({
    members: [{}, { redisProxy }, { redisProxy, env }, { redisProxy }, { redisProxy }],
  });
});

afterAll(() => fleet?.close());

/** The runs of a script for this semaphore. */
function runsFor(kind: ScriptKind, name: string) {
  return runsOf(kind, permitsKeys(PREFIX, { service: 'semaphore', name })[0]);
}

/** Clients that take and give back all the while, at the server that stays and at one that may be killed. */
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

test.concurrent('a limit whose reply is lost, or that is lost itself, is set all the same, once', () =>
  runScenario({ fleet, title: 'lost limit', ...CHECKS }, async (scenario) => {
    const name = await scenario.semaphore('permits', 10);
    const clients = await underLoad(scenario, name, 1);
    const { redisProxy } = fleet.member(1);
    const operator = scenario.operator('operator', fleet.member(1));
    let limit = 10;
    for (const next of [4, 12, 0, 6]) {
      const matches = runsFor('limit', name);
      const lost = next < limit ? redisProxy.dropNextReply(matches) : redisProxy.dropNextRequest(matches);
      const end = scenario.fault('reply_dropped', `of the limit ${next}`, { names: [name] });
      // Its server repeats it: where it was carried out before, what is expected is the past.
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

test.concurrent('a limit whose reply never comes is OUTCOME_UNKNOWN, and OK when it is repeated', () =>
  runScenario({ fleet, title: 'unknown limit', ...CHECKS }, async (scenario) => {
    const name = await scenario.semaphore('permits', 3);
    const client = scenario.client('client', fleet.member(0), 'semaphore');
    const held = await client.acquire({ name, ttlMs: 5000, permits: 3 });
    const waiting = client.hold({ name, ttlMs: 3000, permits: 3 });
    await waiting.queued();
    const { redisProxy } = fleet.member(2);
    const operator = scenario.operator('operator', fleet.member(2));
    const end = scenario.fault('link_cut', 'the reply is dropped, and no connection comes about');
    void redisProxy.dropNextReply(runsFor('limit', name)).then(() => redisProxy.refuseNew());
    expect(await operator.setLimit(name, 2, 3)).toEqual(['OUTCOME_UNKNOWN']);
    redisProxy.passEverything();
    end();
    expect(await waiting.ended).toMatchObject({ code: 'FAILED_PRECONDITION', reason: 'NEVER_FITS' });
    expect(await scenario.observer.read(name)).toMatchObject({
      limit: 2,
      usedCount: 3,
      overcommittedCount: 1,
    });
    await client.release(held);
  }),
);

test.concurrent.each([
  { what: 'before Redis has got it', index: 3, isDone: false },
  { what: 'when Redis has carried it out', index: 4, isDone: true },
])('a server killed with a limit, $what: repeated at another it is OK', ({ what, index, isDone }) =>
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
