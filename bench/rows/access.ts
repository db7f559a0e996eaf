import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tokenDigest } from '../../src/access/credentials';
import type { SessionTasks, SessionWork } from '../load/session';
import { figure, takeRounds, type Figure } from '../support/figures';
import { LoadGroup } from '../support/load-process';
import { costOf } from '../support/stage';
import { UnarySide } from '../support/unary-side';
import type { Row, RowContext } from './row';

const IN_FLIGHT = 32;
const CALLS = [
  ['acquire', 'AcquireLock'],
  ['renew', 'RenewLock'],
  ['get', 'GetLock'],
  ['release', 'ReleaseLock'],
] as const;
const COMMANDS = ['acquire', 'release'] as const;
const SESSION_PROCESSES = 2;
const TOKENS = {
  team: 'the-token-of-the-team',
  guest: 'the-token-of-a-guest',
  wrong: 'a-wrong-token',
} as const;

const POLICY = `
rules:
  - identities: ["token:team"]
    services: [LockService, SemaphoreService, AutocompleteService]
    names: ["bench-"]
    allow: [read, use, limit, import]
quotas:
  - leases: 1000000
    waiters: 1000000
    streams: 1000000
    commands_per_second: 1000000
`;

/** The settings of a server with a token file, a policy with quotas, and the audit log. */
function settingsIn(folder: string): Readonly<Record<string, string>> {
  const [tokens, policy] = [join(folder, 'tokens'), join(folder, 'policy.yaml')];
  const line = (name: 'team' | 'guest') => `${name} sha256:${tokenDigest(TOKENS[name])}\n`;
  writeFileSync(tokens, line('team') + line('guest'));
  writeFileSync(policy, POLICY);
  return { HOLDFAST_AUTH_TOKENS: tokens, HOLDFAST_POLICY: policy };
}

/** Two processes with a session each, on the stage of a side. */
class SessionsBeside {
  private readonly group = new LoadGroup<SessionTasks>('session', SESSION_PROCESSES);

  constructor(private readonly side: UnarySide) {}

  async open(token?: string): Promise<this> {
    const address = this.side.stage.server.listen;
    await this.group.askEach('connect', (index) => ({ address, label: `bench-s${index}`, count: 1, token }));
    return this;
  }

  /** The CPU of the server for a command (µs). */
  async cost(kind: SessionWork, commands: number): Promise<number> {
    const inFlight = IN_FLIGHT / SESSION_PROCESSES;
    const { server } = await costOf(this.side.stage, async () => {
      await this.group.ask('work', { kind, count: commands / SESSION_PROCESSES, inFlight });
      return commands;
    });
    return server;
  }

  close(): void {
    this.group.end();
  }
}

interface Sides {
  readonly open: UnarySide;
  /** Sends a token to the server without authentication. */
  readonly ignored: UnarySide;
  readonly guarded: UnarySide;
  readonly openSessions: SessionsBeside;
  readonly guardedSessions: SessionsBeside;
  /** Callers of the guarded server whom the server refuses, by the reason. */
  readonly refused: Readonly<Record<'NO_CREDENTIAL' | 'BAD_CREDENTIAL' | 'NOT_ALLOWED', UnarySide>>;
}

/** The side that runs second has warm caches, so the order alternates. */
async function round(
  { open, ignored, guarded, openSessions, guardedSessions, refused }: Sides,
  index: number,
  calls: number,
): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const [kind, title] of CALLS) {
    const cost = (side: UnarySide) => side.cost(kind, calls, IN_FLIGHT);
    const early = index % 2 === 0 ? await cost(guarded) : undefined;
    const without = await cost(open);
    const withAll = early ?? (await cost(guarded));
    const name = `${title}: server CPU by what it is without`;
    figures.push(figure(name, '×', withAll.server / without.server, { most: 1.03 }));
  }
  for (const kind of COMMANDS) {
    const early = index % 2 === 0 ? await guardedSessions.cost(kind, calls) : undefined;
    const without = await openSessions.cost(kind, calls);
    const withAll = early ?? (await guardedSessions.cost(kind, calls));
    const name = `${kind} in a session: server CPU by what it is without`;
    figures.push(figure(name, '×', withAll / without, { most: 1.03 }));
  }
  const empty = await open.cost('empty', calls, IN_FLIGHT);
  const withHeader = await ignored.cost('empty', calls, IN_FLIGHT);
  const authenticated = await guarded.cost('empty', calls, IN_FLIGHT);
  figures.push(
    figure('an empty call without authentication, server CPU', 'µs', empty.server),
    figure('an empty call with a token that the server ignores, server CPU', 'µs', withHeader.server),
    figure('an empty call with a token, server CPU', 'µs', authenticated.server),
  );
  for (const [reason, side] of Object.entries(refused)) {
    const { server, commands } = await side.cost('refused', calls, IN_FLIGHT);
    const beyond = server - (reason === 'NOT_ALLOWED' ? authenticated : empty).server;
    const name = `a call that ends with ${reason}`;
    figures.push(
      figure(`${name}: server CPU`, 'µs', server),
      figure(`${name}: beyond an empty call, by an empty call`, '×', beyond / empty.server, { most: 0.5 }),
      figure(`${name}: commands of Redis`, '', commands),
    );
  }
  return figures;
}

async function run({ quick, say }: RowContext): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
  const opened: UnarySide[] = [];
  const sessions: SessionsBeside[] = [];
  const add = async (side: Promise<UnarySide>): Promise<UnarySide> => {
    const one = await side;
    opened.unshift(one);
    return one;
  };
  try {
    const open = await add(UnarySide.open());
    const ignored = await add(open.beside(TOKENS.team));
    const guarded = await add(UnarySide.open({ env: settingsIn(folder) }, TOKENS.team));
    const refused = {
      NO_CREDENTIAL: await add(guarded.beside()),
      BAD_CREDENTIAL: await add(guarded.beside(TOKENS.wrong)),
      NOT_ALLOWED: await add(guarded.beside(TOKENS.guest)),
    };
    const openSessions = await new SessionsBeside(open).open();
    const guardedSessions = await new SessionsBeside(guarded).open(TOKENS.team);
    sessions.push(openSessions, guardedSessions);
    const calls = quick ? 1000 : 3000;
    const counts = quick ? { warmUps: 3, rounds: 5 } : { warmUps: 5, rounds: 15 };
    say(`${counts.rounds} rounds of ${calls} calls of each kind, ${IN_FLIGHT} in flight, in turns`);
    return await takeRounds(counts, (index) =>
      round({ open, ignored, guarded, openSessions, guardedSessions, refused }, index, calls),
    );
  } finally {
    for (const one of sessions) one.close();
    for (const side of opened) await side.close();
    rmSync(folder, { recursive: true });
  }
}

export const access: Row = {
  name: 'access',
  title: 'The cost of tokens, policy, quotas and audit log, and of refused calls',
  about:
    'CPU of a call to a server with a token file, a policy, quotas and the audit log, divided by the CPU of the same call to ' +
    'a server without them. Both servers run at the same time with their own Redis, and are measured in turns, without TLS. ' +
    'A refused call is compared with an empty call: with a token if the token of the refused call is good.',
  run,
};
