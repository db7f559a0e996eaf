import { randomUUID } from 'node:crypto';
import { Fleet } from './fleet';
import { CallEnded } from './held';
import { runScenario, type Scenario } from './scenario';
import { runsOf, type ScriptKind } from './script-commands';

const TTL_MS = 3000;
const OUTCOME_UNKNOWN = { code: 'UNAVAILABLE', reason: 'OUTCOME_UNKNOWN' };

let fleet: Fleet;

beforeAll(async () => {
  const cut = { redisProxy: true, env: { HOLDFAST_COMMAND_TIMEOUT: '600ms' } };
  fleet = await Fleet.start({ members: [{}, cut, cut, cut] });
});

afterAll(() => fleet?.close());

/** Cuts the server off from Redis after Redis has run the next matching command. */
function cutOffAfter(scenario: Scenario, index: number, kind: ScriptKind, requestId: string): () => void {
  const { redisProxy } = fleet.member(index);
  const end = scenario.fault('link_cut', 'the reply is dropped and new connections are refused');
  void redisProxy.dropNextReply(runsOf(kind, requestId)).then(() => redisProxy.refuseNew());
  return () => {
    redisProxy.passEverything();
    end();
  };
}

async function endingOf(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof CallEnded))
    throw new Error(`the call did not end with an error status: ${String(error)}`);
  const { code, reason } = error.ending;
  return { code, reason };
}

test.concurrent(
  'an acquire without a reply ends with OUTCOME_UNKNOWN, and its retry at another server gets the lease',
  () =>
    runScenario({ fleet, title: 'unknown acquire' }, async (scenario) => {
      const name = scenario.lock('lock');
      const client = scenario.client('client', fleet.member(1));
      const request = { name, ttlMs: TTL_MS, requestId: randomUUID() };
      const heal = cutOffAfter(scenario, 1, 'acquire', request.requestId);
      expect(await endingOf(client.acquire(request))).toEqual(OUTCOME_UNKNOWN);
      const [granted] = await scenario.observer.holdersOtherThan(name, 0n);
      client.moveTo(fleet.member(0).address);
      const held = await client.acquire(request);
      expect(Number(held.token)).toBe(granted);
      // The first server gives back its unanswered grant now. This must not end the lease of the retry.
      heal();
      const watched = scenario.client('other', fleet.member(0)).hold({ name, ttlMs: TTL_MS });
      await watched.queued();
      await new Promise((resolve) => setTimeout(resolve, 1500));
      expect(watched.held).toBeUndefined();
      expect((await client.release(held)).released).toBe(true);
      const next = await watched.granted();
      await scenario.client('releaser', fleet.member(0)).release(next);
    }),
);

test.concurrent(
  'a release without a reply ends with OUTCOME_UNKNOWN, and its retry gets the first answer',
  () =>
    runScenario({ fleet, title: 'unknown release' }, async (scenario) => {
      const name = scenario.lock('lock');
      const client = scenario.client('client', fleet.member(2));
      const held = await client.acquire({ name, ttlMs: TTL_MS });
      const heal = cutOffAfter(scenario, 2, 'release', held.requestId);
      expect(await endingOf(client.release(held))).toEqual(OUTCOME_UNKNOWN);
      client.moveTo(fleet.member(0).address);
      expect(await client.release(held)).toEqual({ released: true, cause: null });
      heal();
    }),
);

test.concurrent(
  'a withdrawal without a reply ends with OUTCOME_UNKNOWN, not CONTENDED, and keeps the place',
  () =>
    runScenario({ fleet, title: 'unknown withdraw' }, async (scenario) => {
      const name = scenario.lock('lock');
      const holder = scenario.client('holder', fleet.member(0));
      const first = await holder.hold({ name, ttlMs: TTL_MS }).granted();
      const client = scenario.client('client', fleet.member(3));
      const request = { name, ttlMs: TTL_MS, requestId: randomUUID() };
      const heal = cutOffAfter(scenario, 3, 'withdraw', request.requestId);
      expect(await endingOf(client.acquire({ ...request, waitMs: 300 }))).toEqual(OUTCOME_UNKNOWN);
      const newcomer = scenario.client('newcomer', fleet.member(0));
      const later = newcomer.hold({ name, ttlMs: TTL_MS });
      await later.queued();
      client.moveTo(fleet.member(0).address);
      const stream = client.hold(request);
      expect(await stream.queued()).toBe(1);
      heal();
      await holder.release(first);
      await client.release(await stream.granted());
      await newcomer.release(await later.granted());
    }),
);
