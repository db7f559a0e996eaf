import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SessionEndCause } from '../../generated/typescript/holdfast/v1/session_service';
import { tokenDigest } from '../../src/access/credentials';
import { metadataOf, writePolicy } from '../contract/policy-harness';
import { attach, lock, permits, release, SessionStream } from '../support/clients/session-stream';
import { closeAll, eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { RecordedCommands } from '../support/redis-commands';
import { scratchFolder } from '../support/scratch-folder';
import { InProcessServer } from './in-process-server';

/** Sessions of two teams with a policy, in front of a real Redis. */

const TEAMS = ['billing', 'search'] as const;
const rule = (team: string, names = [`${team}/`]) => ({
  identities: [`token:${team}`],
  services: ['LockService', 'SemaphoreService'] as const,
  names,
  allow: ['read', 'use'] as const,
});
const RULES = TEAMS.map((team) => rule(team));

/** A line of the token file: a team may have several tokens. */
const tokenLine = (team: string, token = team) => `${team} sha256:${tokenDigest(`secret-of-${token}`)}\n`;

let redis: RedisProcess;
let server: InProcessServer;
let policyFile: string;
let tokenFile: string;
const open: SessionStream[] = [];
/** A reload takes up to two seconds, and longer on a busy machine. */
jest.setTimeout(60_000);

beforeAll(async () => {
  redis = await RedisProcess.start();
  const folder = scratchFolder();
  policyFile = join(folder, 'policy.yaml');
  tokenFile = join(folder, 'tokens');
  writeFileSync(tokenFile, TEAMS.map((team) => tokenLine(team)).join('') + tokenLine('billing', 'second'));
  writePolicy(policyFile, RULES);
  server = await InProcessServer.start(redis.url, {
    HOLDFAST_AUTH_TOKENS: tokenFile,
    HOLDFAST_POLICY: policyFile,
  });
});
afterAll(() =>
  closeAll(
    () => open.forEach((one) => one.close()),
    () => server?.close(),
    () => redis?.close(),
  ),
);

/** @param token a team, or another token of a team */
function sessionOf(token: string): SessionStream {
  const one = new SessionStream(server.address, { metadata: metadataOf(token) });
  open.push(one);
  return one;
}

const reasonOf = async (one: SessionStream, commandId: number): Promise<string> =>
  (await one.event(commandId, 'failed')).reasonText;

test('a session without a credential ends with NO_CREDENTIAL', async () => {
  const one = new SessionStream(server.address);
  open.push(one);
  expect((await one.ending).reason).toBe('NO_CREDENTIAL');
});

test('each command needs the permission for its name, and a refused command costs no command of Redis', async () => {
  const billing = sessionOf('billing');
  const search = sessionOf('search');
  const number = billing.run(lock('billing/a'));
  const { lease } = await billing.event(number, 'granted');
  const recorded = await RecordedCommands.start(redis);
  const { leaseId = '' } = lease ?? {};
  const refused = search.run(lock('billing/b'), permits('billing/p'), attach(leaseId), {
    $case: 'release',
    value: { lease: { $case: 'leaseId', value: leaseId } },
  });
  const reasons = [0, 1, 2, 3].map((index) => reasonOf(search, refused + index));
  expect(await Promise.all(reasons)).toEqual(Array(4).fill('NOT_ALLOWED'));
  // Without the permission to set limits, a semaphore must exist.
  expect(await reasonOf(billing, billing.run(permits('billing/p')))).toBe('NO_SUCH_SEMAPHORE');
  expect(await recorded.countWith('billing/b')).toBe(0);
  await recorded.stop();
  billing.run(release(number));
  await billing.event(number, 'ended');
});

test('a new policy ends waits and leases of names that it no longer allows, and the session continues', async () => {
  const [holder, waiter] = [sessionOf('search'), sessionOf('search')];
  const held = holder.run(lock('search/a'));
  await holder.event(held, 'granted');
  const waiting = waiter.run(lock('search/a'));
  await waiter.event(waiting, 'queued');
  writePolicy(policyFile, [rule('billing'), rule('search', ['search/b'])]);
  expect(await reasonOf(waiter, waiting)).toBe('NOT_ALLOWED');
  expect(await holder.event(held, 'ended')).toEqual({ cause: SessionEndCause.SESSION_END_CAUSE_REVOKED });
  const other = holder.run(lock('search/b'));
  await holder.event(other, 'granted');
  writePolicy(policyFile, RULES);
  await eventually('the old policy', async () => {
    const again = waiter.run(lock('search/c'));
    await eventually('an answer', () => waiter.kinds(again).length > 0);
    return waiter.kinds(again)[0] === 'granted';
  });
});

test('a removed token ends its sessions, but no lease: each lives to its end, and another token attaches', async () => {
  const [ending, other] = [sessionOf('second'), sessionOf('billing')];
  const [long, short] = [
    ending.run(lock('billing/long', { ttlMs: 60_000 })),
    ending.run(lock('billing/short', { ttlMs: 8000 })),
  ];
  const { lease } = await ending.event(long, 'granted');
  await ending.event(short, 'granted');
  const next = other.run(lock('billing/short'));
  await other.event(next, 'queued');
  writeFileSync(tokenFile, TEAMS.map((team) => tokenLine(team)).join(''));
  expect((await ending.ending).reason).toBe('BAD_CREDENTIAL');
  expect(other.kinds(next)).not.toContain('granted');
  const attached = await other.event(other.run(attach(lease?.leaseId ?? '')), 'granted');
  expect(attached.lease?.fencingToken).toBe(lease?.fencingToken);
  await other.event(next, 'granted');
});
