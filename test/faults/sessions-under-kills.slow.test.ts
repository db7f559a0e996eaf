import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../support/clients/lease-client';
import { closeAll } from '../support/eventually';
import { monotonicMicros } from '../support/history-recorder';
import { Fleet, type Member } from './fleet';
import { LeaseHolderProcess } from './lease-holder-process';
import type { HolderReport } from './lease-holder-program';
import { residueOf } from './residue';

const SERVERS = 3;
const CLIENTS = 4;
const LEASES_EACH = 500;
const PAGE_SIZE = 500;
const TIMEOUT_MS = 480_000;
/** A client waits for up to 1 s before its next session. */
const STAGGER_MS = 250;
/** The number of leases that the text of a failure names. */
const SHOWN = 10;

let fleet: Fleet;
let holders: LeaseHolderProcess[];

beforeEach(async () => {
  holders = [];
  fleet = await Fleet.start({ members: Array.from({ length: SERVERS }, () => ({})) });
});
afterEach(() => closeAll(...holders.map((one) => () => one.close()), () => fleet?.close()));

interface Plan {
  readonly ttlMs: number;
  readonly ends: number;
  /** The time from one end to the next. An end waits until the servers before have started again. */
  readonly everyMs: number;
  /** Ends the server with this index, or some servers. The test starts them again at once. */
  readonly end: (index: number) => Promise<readonly Member[]>;
}

/** Each client begins at another server, and the last client knows two servers only. */
function addressesOf(client: number): string[] {
  const all = Array.from({ length: SERVERS }, (_, n) => fleet.member((client + n) % SERVERS).address);
  return client === CLIENTS - 1 ? all.slice(0, 2) : all;
}

async function startHolders(ttlMs: number): Promise<void> {
  const start = async (_: unknown, client: number) => {
    const addresses = addressesOf(client);
    const task = { holderId: `client ${client}`, addresses, ttlMs, count: LEASES_EACH };
    return LeaseHolderProcess.start(task);
  };
  holders.push(...(await Promise.all(Array.from({ length: CLIENTS }, start))));
  await Promise.all(holders.map((one) => one.holdsAll()));
}

/** The fencing tokens of all holders in the store, by the name of the lock. */
async function storedTokens(address: string): Promise<Map<string, string>> {
  const client = new LockClient(address);
  const tokens = new Map<string, string>();
  let pageToken = '';
  do {
    const page = await client.list({ pageSize: PAGE_SIZE, pageToken });
    for (const { name, holders: found } of page.locks) {
      if (found.length > 0) tokens.set(name, found.map(({ fencingToken }) => fencingToken).join(' and '));
    }
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  client.close();
  return tokens;
}

/** The leases that a client has lost, or that the store does not hold under the token of the client. */
async function lostLeases(address: string): Promise<string[]> {
  const stored = await storedTokens(address);
  const own = holders.flatMap(({ tokens }) => [...tokens]);
  expect(own).toHaveLength(CLIENTS * LEASES_EACH);
  const wrong = own.filter(([name, token]) => stored.get(name) !== token);
  return [
    ...holders.flatMap(({ lost }) => lost),
    ...wrong.map(([name, token]) => `${name}: token ${token}, but the store has ${stored.get(name)}`),
  ];
}

/** Ends servers in turns until leases are lost. Returns the times of the ends and the lost leases. */
async function endServers({ ends, everyMs, end }: Plan): Promise<{ endedAt: number[]; lost: string[] }> {
  const endedAt: number[] = [];
  let lost: string[] = [];
  for (let index = 0; index < ends && lost.length === 0; index += 1) {
    const nextAt = performance.now() + everyMs;
    endedAt.push(monotonicMicros());
    const members = await end(index);
    for (const { server } of members) server.assertNoUnhandled();
    await Promise.all(members.map((member) => fleet.restart(member)));
    await sleep(Math.max(0, nextAt - performance.now()));
    lost = await lostLeases(fleet.member(0).address);
  }
  return { endedAt, lost };
}

/** What Redis must not keep of a released lock. */
async function residues(): Promise<string[]> {
  const found: string[] = [];
  for (const { tokens } of holders) {
    const each = [...tokens.keys()].map((name) => residueOf(fleet.redis, { service: 'lock', name }));
    found.push(...(await Promise.all(each)).flat());
  }
  return found;
}

/** How the clients fared, for the text of a failure. */
function courseOf(reports: readonly HolderReport[], endedAt: readonly number[]): string[] {
  const sessions = reports.flatMap((report) => report.sessions);
  const ends = endedAt.map((at, index) => {
    const next = endedAt[index + 1] ?? Infinity;
    const moved = sessions.filter(({ lastAttachAt }) => lastAttachAt >= at && lastAttachAt < next);
    const count = moved.reduce((sum, { attached }) => sum + attached, 0);
    const lastMs = (Math.max(at, ...moved.map(({ lastAttachAt }) => lastAttachAt)) - at) / 1000;
    return `end ${index + 1}: ${count} attaches, the last after ${Math.round(lastMs)} ms`;
  });
  const leastMs = Math.min(...reports.map((one) => one.smallestRemainingMs));
  const stallMs = Math.max(...reports.map((one) => one.longestStallMs));
  const failures = reports.reduce((sum, one) => sum + one.renewalFailures, 0);
  return [
    ...ends,
    `the smallest remaining time of a lease: ${Math.round(leastMs)} ms`,
    `the longest stall of a client: ${Math.round(stallMs)} ms; failed renewals: ${failures}`,
  ];
}

const some = (what: string, found: readonly string[]): string[] =>
  found.length === 0 ? [] : [`${found.length} ${what}:`, ...found.slice(0, SHOWN)];

async function kill(index: number): Promise<Member[]> {
  const member = fleet.member(index % SERVERS);
  await member.server.kill();
  return [member];
}

/** The sessions of the first server are about to attach at the second server, or attach already, or are done. */
async function killTwo(index: number): Promise<Member[]> {
  const first = await kill(index);
  await sleep(index * STAGGER_MS);
  return [...first, ...(await kill(index + 1))];
}

async function drain(index: number): Promise<Member[]> {
  const member = fleet.member(index % SERVERS);
  await member.server.term();
  return [member];
}

test.each([
  ['are killed every 20 s', { ttlMs: 30_000, ends: 6, everyMs: 20_000, end: kill }],
  ['are killed two at a time', { ttlMs: 30_000, ends: 6, everyMs: 0, end: killTwo }],
  ['are drained one after the other', { ttlMs: 10_000, ends: 3, everyMs: 0, end: drain }],
] as const)(
  '2,000 leases of sessions keep their tokens, and can be released, while servers %s',
  async (_, plan) => {
    await startHolders(plan.ttlMs);
    const { endedAt, lost } = await endServers(plan);
    const reports = await Promise.all(holders.map((one) => one.release()));
    // A loss between the last comparison and the release.
    const lostLate = lost.length > 0 ? [] : holders.flatMap((one) => one.lost);
    const faults = [
      ...some('leases were lost', [...lost, ...lostLate]),
      ...some(
        'releases were not answered by released',
        reports.flatMap(({ notReleased }) => notReleased),
      ),
      ...some('locks are still held', [...(await storedTokens(fleet.member(0).address)).keys()]),
      ...some('keys or records are left in Redis', await residues()),
    ];
    if (faults.length > 0) throw new Error([...faults, ...courseOf(reports, endedAt)].join('\n'));
  },
  TIMEOUT_MS,
);
