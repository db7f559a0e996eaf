import { INVARIANTS } from '../support/checkers/violation';
import { Fleet, type Member, type MemberOptions } from './fleet';
import type { Held } from './held';
import type { RecordedStream } from './recorded-stream';
import { runScenario, type Scenario } from './scenario';
import { runsOf } from './script-commands';

const KEEPALIVE = { HOLDFAST_KEEPALIVE_TIME: '500ms', HOLDFAST_KEEPALIVE_TIMEOUT: '500ms' };
/** A busy machine may leave a ping unanswered for 500 ms, so only servers that are cut off from their clients have these pings. */
const CUT_OFF: MemberOptions = { redisProxy: true };
const CUT_OFF_FROM_BOTH: MemberOptions = { ...CUT_OFF, clientProxy: true, env: KEEPALIVE };

/** Server 0 takes over the leases. Each scenario cuts off another server. */
let fleet: Fleet;

beforeAll(async () => {
  fleet = await Fleet.start({ members: [{}, CUT_OFF, CUT_OFF, CUT_OFF_FROM_BOTH, CUT_OFF_FROM_BOTH] });
});

afterAll(() => fleet?.close());

interface Opened {
  readonly name: string;
  readonly stream: RecordedStream;
  readonly held: Held;
}

async function holdAt(scenario: Scenario, member: Member, ttlMs: number): Promise<Opened> {
  const name = scenario.lock('lock');
  const stream = scenario.client('before', member).hold({ name, ttlMs });
  const held = await stream.granted();
  scenario.observer.watchLease(held);
  await stream.more('renewed');
  return { name, stream, held };
}

/** Attaches the holder's next stream at server 0, and expects the same lease and token. */
async function takeOver(scenario: Scenario, held: Held): Promise<RecordedStream> {
  const stream = scenario.client('after', fleet.member(0)).attach(held);
  expect((await stream.granted()).token).toBe(held.token);
  return stream;
}

/** Releases the lease, and lets another client hold the lock for some renewals. */
async function passOn(scenario: Scenario, { name, held }: Opened, heal: () => void): Promise<void> {
  await scenario.client('releaser', fleet.member(0)).release(held);
  const carl = scenario.client('carl', fleet.member(0));
  const stream = carl.hold({ name, ttlMs: 1500 });
  const next = await stream.granted();
  scenario.observer.watchLease(next);
  heal();
  await stream.more('renewed', 4);
  expect(new Set(stream.kinds)).toEqual(new Set(['granted', 'renewed']));
  expect((await carl.release(next)).released).toBe(true);
}

test.concurrent('a server that was cut off from Redis ends its superseded stream with SUPERSEDED', () =>
  runScenario({ fleet, title: 'cut off from redis for a while' }, async (scenario) => {
    const member = fleet.member(1);
    const opened = await holdAt(scenario, member, 4000);
    const end = scenario.fault('link_cut', 'black hole between server and Redis');
    member.redisProxy.blackHole('both');
    const after = await takeOver(scenario, opened.held);
    await opened.stream.more('renewalFailed');
    expect(opened.stream.ending).toBeUndefined();
    // The delayed renewals of the cut-off server arrive now.
    member.redisProxy.passEverything();
    end();
    expect(await opened.stream.ended).toMatchObject({ code: 'ABORTED', reason: 'SUPERSEDED' });
    expect(opened.stream.kinds).not.toContain('lost');
    await after.more('renewed', 2);
    await scenario.client('releaser', fleet.member(0)).release(opened.held);
    expect((await after.ended).code).toBe('OK');
  }),
);

// The cut-off server must report the loss of its lease, although another server has taken the lease over.
const withoutFalseLoss = INVARIANTS.filter((invariant) => invariant !== 'false_loss');

test.concurrent(
  'late commands of a cut-off server that has reported LOST do not harm the lease that was taken over',
  () =>
    runScenario(
      { fleet, title: 'cut off from redis past the end', only: withoutFalseLoss },
      async (scenario) => {
        const member = fleet.member(2);
        const opened = await holdAt(scenario, member, 2000);
        const end = scenario.fault('link_cut', 'black hole between server and Redis');
        member.redisProxy.blackHole('both');
        const after = await takeOver(scenario, opened.held);
        expect(await opened.stream.ended).toMatchObject({ code: 'ABORTED', reason: 'LEASE_LOST' });
        expect(opened.stream.lossCause).toBe('STORE_UNAVAILABLE');
        // The delayed renewals and the release after the loss arrive now.
        member.redisProxy.passEverything();
        end();
        await after.more('renewed', 4);
        expect(new Set(after.kinds)).toEqual(new Set(['granted', 'renewed']));
        await scenario.client('releaser', fleet.member(0)).release(opened.held);
        expect((await after.ended).code).toBe('OK');
      },
    ),
);

test.concurrent(
  "late commands of a server cut off from Redis and its client do not free another client's lease",
  () =>
    runScenario({ fleet, title: 'cut off from both' }, async (scenario) => {
      const member = fleet.member(3);
      const opened = await holdAt(scenario, member, 1500);
      const end = scenario.fault('link_cut', 'black holes on both sides of the server');
      member.redisProxy.blackHole('both');
      member.clientProxy.blackHole('both');
      const after = await takeOver(scenario, opened.held);
      await after.more('renewed', 4);
      expect(opened.stream.ending).toBeUndefined();
      await passOn(scenario, opened, () => {
        member.redisProxy.passEverything();
        member.clientProxy.passEverything();
        end();
      });
      expect((await after.ended).code).toBe('OK');
      expect((await opened.stream.ended).code).not.toBe('OK');
    }),
);

test.concurrent(
  'a server cut off from its client stops renewing once another stream has taken the lease over',
  () =>
    runScenario({ fleet, title: 'cut off from the client' }, async (scenario) => {
      const member = fleet.member(4);
      const opened = await holdAt(scenario, member, 1500);
      let renewals = 0;
      const isRenewal = runsOf('renew', opened.held.requestId);
      member.redisProxy.on('command', (command) => {
        if (isRenewal(command)) renewals += 1;
      });
      const end = scenario.fault('link_cut', 'black hole between client and server');
      member.clientProxy.blackHole('both');
      const after = await takeOver(scenario, opened.held);
      const renewedBefore = renewals;
      await after.more('renewed', 3);
      // One renewal may follow the hint that another stream took over. The answer to this renewal is SUPERSEDED.
      expect(renewals - renewedBefore).toBeLessThanOrEqual(1);
      await passOn(scenario, opened, () => {
        member.clientProxy.passEverything();
        end();
      });
      expect((await opened.stream.ended).code).not.toBe('OK');
      expect(opened.stream.kinds).not.toContain('lost');
    }),
);
