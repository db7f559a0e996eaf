import { createInterface } from 'node:readline';
import { CredentialError, HoldfastError, UnavailableError, type Holdfast } from '../../../clients/typescript';
import { CliError, EXIT, UsageError } from '../exit-codes';
import { problemText } from '../problem-text';
import { quoted } from '../quoted';
import { table, type Column } from '../table';
import type { Terminal } from '../terminal';
import { clockText } from '../time-of-day';
import { listedPages } from './listed-pages';
import type { Resource, ResourceKind, RevokeTarget } from './resource-kind';
import { timeMs } from './requests';
import { freeText } from './resource-text';

/** What to revoke. A holder or waiter must have both the label and the identity, of those that are given. */
export interface WantedRevocations {
  /** Empty: any label. */
  readonly holderId: string;
  /** Empty: any identity. */
  readonly identity: string;
  readonly namePrefix: string;
  readonly force: boolean;
  readonly reason: string;
  readonly yes: boolean;
  readonly dryRun: boolean;
}

/** One lease or wait that was found. */
interface Found {
  readonly name: string;
  readonly target: Exclude<RevokeTarget, { kind: 'all' }>;
  readonly holderId: string;
  readonly identity: string;
}

interface Search {
  readonly found: readonly Found[];
  /** The names with more holders or waiters than a list shows. */
  readonly cutNames: readonly string[];
  /** The leases that were revoked before. Their holders may work until their ends, the last one at `lastEndMs`. */
  readonly before: { readonly count: number; readonly lastEndMs: number };
}

const COLUMNS: readonly Column<Found>[] = [
  { title: 'NAME', value: ({ name }) => name, mayShrink: true },
  {
    title: 'TOKEN',
    value: ({ target }) =>
      target.kind === 'token' ? String(target.fencingToken) : `(waits at place ${target.position})`,
  },
  { title: 'HOLDER', value: ({ holderId }) => holderId, mayShrink: true },
  { title: 'IDENTITY', value: ({ identity }) => identity, mayShrink: true },
];

/** Shows the leases and waits of a holder, asks, and revokes exactly these. Throws unless all of them have ended. */
export async function revokeOverNames<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  terminal: Terminal,
  wanted: WantedRevocations,
): Promise<void> {
  const mayAsk = terminal.errIsTerminal && (terminal.input as NodeJS.ReadStream).isTTY;
  if (!wanted.yes && !wanted.dryRun && !mayAsk) {
    throw new UsageError(
      'there is no terminal to ask; give --yes, or --dry-run to see what would be revoked',
    );
  }
  const search = await find(kind, hf, terminal, wanted);
  const { found, cutNames } = search;
  const before = search.before.count === 0 ? undefined : beforeText(search.before);
  for (const name of cutNames) {
    terminal.err.write(`holdfast: ${kind.word} ${quoted(name)} has more than 16 holders or waiters; \
only the first 16 were compared\n`);
  }
  if (found.length === 0) {
    throw new CliError(
      before === undefined
        ? `nothing to revoke: no ${kind.word} shows such a holder or waiter`
        : `nothing more to revoke: ${before}`,
    );
  }
  if (before !== undefined) terminal.err.write(`holdfast: ${before}\n`);
  const lines = table(found, COLUMNS, terminal);
  terminal.out.write(lines.map((line) => `${line}\n`).join(''));
  if (wanted.dryRun) return;
  if (!wanted.yes && !(await isConfirmed(terminal, found))) throw new CliError('nothing was revoked');
  await revokeAll(kind, hf, terminal, wanted, search);
}

async function find<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  terminal: Terminal,
  { holderId, identity, namePrefix, force }: WantedRevocations,
): Promise<Search> {
  const isWanted = (one: { readonly holderId: string; readonly identity: string }) =>
    (holderId === '' || one.holderId === holderId) && (identity === '' || one.identity === identity);
  const found: Found[] = [];
  const cutNames: string[] = [];
  const before = { count: 0, lastEndMs: 0 };
  const query = { namePrefix, holderId, identity, byWaiterCount: false };
  for await (const page of listedPages(kind, hf, query, terminal)) {
    for (const { name, holders, holderCount, waiters, waiterCount } of page) {
      // First the waits, so that the end of a lease grants none of them.
      for (const waiter of waiters.filter(isWanted)) {
        const { position, enqueueTime } = waiter;
        if (enqueueTime === undefined) continue;
        found.push({ ...labels(waiter), name, target: { kind: 'waiter', position, enqueueTime } });
      }
      for (const holder of holders.filter(isWanted)) {
        // A lease that was revoked before still keeps its permits, and only --force changes that.
        if (holder.revoked && !force) {
          before.count += 1;
          if (holder.expireTime) before.lastEndMs = Math.max(before.lastEndMs, timeMs(holder.expireTime));
          continue;
        }
        found.push({ ...labels(holder), name, target: { kind: 'token', fencingToken: holder.fencingToken } });
      }
      if (holderCount > holders.length || waiterCount > waiters.length) cutNames.push(name);
    }
  }
  return { found, cutNames, before };
}

function labels({ holderId, identity }: { readonly holderId: string; readonly identity: string }) {
  return { holderId, identity };
}

function beforeText({ count, lastEndMs }: Search['before']): string {
  const end = clockText(lastEndMs);
  return count === 1
    ? `1 lease was revoked before and ends by ${end}`
    : `${count} leases were revoked before, and the last one ends by ${end}`;
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

async function isConfirmed(terminal: Terminal, found: readonly Found[]): Promise<boolean> {
  const waits = found.filter(({ target }) => target.kind === 'waiter').length;
  const what = `${counted(found.length - waits, 'lease')} and ${counted(waits, 'wait')}`;
  terminal.err.write(`Revoke ${what}? [y/N] `);
  const lines = createInterface({ input: terminal.input });
  try {
    const answer = await new Promise<string>((resolve) => {
      lines.once('line', resolve);
      // The end of the input, or Ctrl-C.
      lines.once('close', () => resolve(''));
      terminal.interrupted.addEventListener('abort', () => resolve(''), { once: true });
    });
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

/** One after the other. A refusal of one name does not keep the others. */
async function revokeAll<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  terminal: Terminal,
  { force, reason }: WantedRevocations,
  { found, cutNames }: Search,
): Promise<void> {
  let [revoked, failed, missed] = [0, 0, 0];
  for (const { name, target } of found) {
    if (terminal.interrupted.aborted) return;
    const isWait = target.kind === 'waiter';
    const what = `${kind.word} ${quoted(name)}, ${isWait ? `the wait at place ${target.position}` : `token ${target.fencingToken}`}`;
    try {
      const result = await kind.revoke(hf, { name, target, force, reason });
      if (result.revokedCount > 0) revoked += 1;
      else if (isWait) missed += 1;
      const ended = isWait ? 'it has ended, or was granted' : 'it had ended already';
      const text = result.revokedCount === 0 ? ended : isWait ? 'revoked' : `revoked, ${freeText(result)}`;
      terminal.err.write(`${what}: ${text}\n`);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      terminal.err.write(`${what}: not revoked: ${problemText(error)}\n`);
      // The next call would fail in the same way.
      if (error instanceof UnavailableError || error instanceof CredentialError) throw error;
      failed += 1;
    }
  }
  const sum = `revoked: ${revoked} of ${found.length}`;
  if (failed + missed + cutNames.length === 0) return void terminal.err.write(`${sum}\n`);
  const advice =
    failed > 0 ? `${failed} failed` : 'some holders or waiters may be left: run the command again';
  throw new CliError(`${sum}; ${advice}`, EXIT.failed);
}
