import { randomUUID } from 'node:crypto';
import { changeBehaviour, sendResponse } from '../../../clients/conformance/kit/acts';
import { Catalogue } from '../../../clients/conformance/server/catalogue';
import { Records } from '../../../clients/conformance/server/records';
import { ScriptedServer } from '../../../clients/conformance/server/scripted-server';
import { SessionChecks } from '../../../clients/conformance/server/session-checks';
import { statusSpec } from '../../../clients/conformance/server/status-spec';
import { Store } from '../../../clients/conformance/server/store';
import { takeover } from '../../../clients/conformance/server/takeovers';
import { duration, durationToMs } from '../../../clients/typescript/duration';
import { AcquireLockRequest } from '../../../generated/typescript/holdfast/v1/lock_service';
import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import { SessionStream, type SessionStreamOptions } from '../../support/clients/session-stream';
import { closeAll, eventually } from '../../support/eventually';

const store = new Store();
const records = new Records(() => undefined);
const streams: SessionStream[] = [];
let server: ScriptedServer;

beforeAll(async () => {
  const checks = new SessionChecks(records);
  server = await ScriptedServer.start({ name: 'A', store, catalogue: new Catalogue(), records, checks });
});

afterAll(async () => {
  store.close();
  await closeAll(...streams.map((one) => () => one.halfClose()), () => server.close());
});

let names = 0;
const newName = (): string => `lock-${(names += 1)}`;

function open(options: SessionStreamOptions = {}): SessionStream {
  const stream = new SessionStream(server.address, options);
  streams.push(stream);
  return stream;
}

function acquire(name: string, more: Partial<AcquireLockRequest> = {}) {
  const value = AcquireLockRequest.create({ name, requestId: randomUUID(), ttl: duration(5000), ...more });
  return { $case: 'acquireLock' as const, value };
}

function attach(leaseId: string) {
  return { $case: 'attach' as const, value: { leaseId } };
}

function release(leaseId: string) {
  return { $case: 'release' as const, value: { lease: { $case: 'leaseId' as const, value: leaseId } } };
}

async function leaseOf(stream: SessionStream, number: number) {
  const { lease } = await stream.event(number, 'granted');
  if (!lease) throw new Error('a grant without a lease');
  return lease;
}

describe('the scripted server without a script', () => {
  it('grants a lock, and the waiter after its release', async () => {
    const name = newName();
    const stream = open();
    const first = stream.run(acquire(name));
    const second = stream.run(acquire(name));
    const lease = await leaseOf(stream, first);
    expect((await stream.event(second, 'queued')).position).toBe(1);
    expect(stream.responses[0]?.started?.maxCommandCount).toBe(1000);
    const released = stream.run(release(lease.leaseId));
    expect((await stream.event(released, 'released')).released).toBe(true);
    expect((await leaseOf(stream, second)).fencingToken).toBe(lease.fencingToken + 1n);
    expect(stream.kinds(first)).toEqual(['granted', 'ended']);
  });

  it('never tells an end that is later than its own', async () => {
    const name = newName();
    const stream = open();
    const lease = await leaseOf(stream, stream.run(acquire(name)));
    const { heartbeatId } = stream.events.find(({ event }) => event.$case === 'granted') ?? {
      heartbeatId: 0,
    };
    const deadline = (stream.sentAt.get(heartbeatId) ?? 0) + (durationToMs(lease.expireOffset!) ?? 0);
    expect(deadline).toBeLessThan(store.heldBy(name)?.until ?? 0);
    expect(store.heldBy(name)?.believableUntil).toBeGreaterThanOrEqual(deadline);
  });

  it('names each heartbeat at once, and renews', async () => {
    const stream = open();
    const number = stream.run(acquire(newName(), { ttl: duration(900) }));
    await leaseOf(stream, number);
    await eventually(
      'three renewals',
      () => stream.responses.flatMap(({ renewals }) => renewals).length >= 3,
    );
    await eventually('heartbeat 4', () => stream.responses.some(({ heartbeatId }) => heartbeatId >= 4n));
  });

  it('ends a lease that is not renewed', async () => {
    const stream = open();
    changeBehaviour(server, { renew: false });
    const number = stream.run(acquire(newName(), { ttl: duration(300) }));
    const { cause } = await stream.event(number, 'ended');
    changeBehaviour(server, { renew: true });
    expect(cause).toBe(SessionEndCause.SESSION_END_CAUSE_EXPIRED);
  });

  it('moves a lease to a later session, and not back to an earlier one', async () => {
    const clientId = randomUUID();
    const early = open({ start: { clientId, sessionNumber: 1n } });
    const number = early.run(acquire(newName()));
    const { leaseId } = await leaseOf(early, number);
    const late = open({ start: { clientId, sessionNumber: 2n } });
    expect((await leaseOf(late, late.run(attach(leaseId)))).leaseId).toBe(leaseId);
    expect((await early.event(number, 'ended')).cause).toBe(SessionEndCause.SESSION_END_CAUSE_SUPERSEDED);
    const again = await early.event(early.run(attach(leaseId)), 'failed');
    expect(again.reasonText).toBe('SUPERSEDED');
  });

  it('finds a lease by its request_id, and refuses the request_id after the end of the lease', async () => {
    const stream = open();
    const command = acquire(newName());
    const { leaseId } = await leaseOf(stream, stream.run(command));
    expect((await leaseOf(stream, stream.run(command))).leaseId).toBe(leaseId);
    await stream.event(stream.run(release(leaseId)), 'released');
    const { reasonText, code } = await stream.event(stream.run(command), 'failed');
    expect([reasonText, code]).toEqual(['REQUEST_FINISHED', 9]);
  });
});

describe('the scripted server with a script', () => {
  it('answers, drops and loses as the case says, and then behaves', async () => {
    const name = newName();
    const stream = open();
    const { takeovers } = server.behaviour;
    takeovers.add(takeover({ kind: 'acquire_lock', name, fail: { reason: 'OVERLOADED', retry_ms: 300 } }));
    takeovers.add(takeover({ kind: 'acquire_lock', name, drop: true }));
    takeovers.add(takeover({ kind: 'acquire_lock', name, lose_answer: true }));
    const failed = await stream.event(stream.run(acquire(name)), 'failed');
    expect([failed.reasonText, durationToMs(failed.retryDelay!)]).toEqual(['OVERLOADED', 300]);
    const dropped = stream.run(acquire(name));
    const command = acquire(name);
    const lost = stream.run(command);
    const found = await leaseOf(stream, stream.run(command));
    expect(found.fencingToken).toBe(1n);
    expect([...stream.kinds(dropped), ...stream.kinds(lost)].filter((kind) => kind !== 'ended')).toEqual([]);
  });

  it('ends a stream with a status and a reason', async () => {
    const stream = open();
    await leaseOf(stream, stream.run(acquire(newName())));
    server.latest.end(statusSpec({ reason: 'DRAINING', retry_ms: 50 }));
    expect(await stream.ending).toMatchObject({ reason: 'DRAINING' });
  });

  it('stays silent, and leaves heartbeats without an answer', async () => {
    const stream = open();
    await leaseOf(stream, stream.run(acquire(newName())));
    changeBehaviour(server, { echo: false });
    await eventually('the last answer', () => stream.responses.length > 0);
    const latest = stream.heartbeat();
    await eventually('the heartbeat to arrive', () =>
      records.all.some((one) => one['heartbeat_id'] === latest),
    );
    expect(stream.responses.some(({ heartbeatId }) => heartbeatId === BigInt(latest))).toBe(false);
    changeBehaviour(server, { echo: true });
    await eventually('the answer', () =>
      stream.responses.some(({ heartbeatId }) => heartbeatId >= BigInt(latest)),
    );
  });

  it('names another heartbeat, and then expects no belief', async () => {
    const name = newName();
    const stream = open();
    await eventually('the first answer', () => stream.responses.length > 0);
    changeBehaviour(server, { name_heartbeat: 4711 });
    await leaseOf(stream, stream.run(acquire(name)));
    changeBehaviour(server, { name_heartbeat: null });
    expect(stream.responses.some(({ heartbeatId }) => heartbeatId === 4711n)).toBe(true);
    expect(store.heldBy(name)?.believableUntil).toBe(-Infinity);
  });

  it('sends unknown events and ends of unknown causes, which the stubs read', async () => {
    const name = newName();
    const stream = open();
    const number = stream.run(acquire(name));
    await leaseOf(stream, number);
    server.latest.output.unknownEvent(BigInt(number));
    sendResponse(server.latest, store, { ended: [{ name, cause: 99 }] });
    expect((await stream.event(number, 'ended')).cause).toBe(99);
  });
});

describe('the checks of each session', () => {
  const since = async (run: () => Promise<unknown>): Promise<string[]> => {
    const before = records.violations.length;
    await run();
    return records.violations.slice(before);
  };

  it('find nothing in the sessions above', () => {
    expect(records.violations).toEqual([]);
  });

  it('find an attach after a release', async () => {
    const name = newName();
    const found = await since(async () => {
      const stream = open();
      const { leaseId } = await leaseOf(stream, stream.run(acquire(name)));
      await stream.event(stream.run(release(leaseId)), 'released');
      await stream.event(stream.run(attach(leaseId)), 'failed');
    });
    expect(found).toEqual([`an attach to ${name} follows its release`]);
  });

  it('find a request_id with other fields, and a session_number that does not rise', async () => {
    const name = newName();
    const clientId = randomUUID();
    const found = await since(async () => {
      const stream = open({ start: { clientId, sessionNumber: 2n } });
      const requestId = randomUUID();
      await leaseOf(stream, stream.run(acquire(name, { requestId })));
      await leaseOf(stream, stream.run(acquire(name, { requestId, ttl: duration(9000) })));
      const older = open({ start: { clientId, sessionNumber: 2n } });
      await eventually('the older session', () => older.responses.length > 0);
    });
    expect(found).toEqual([
      `the request_id of ${name} was repeated with other fields`,
      'session_number 2 does not rise',
    ]);
  });
});
