import { createInterface } from 'node:readline';
import { type Command, InvalidArgumentError } from 'commander';
import { CredentialError, type Holdfast, HoldfastError, UnavailableError } from '../../../clients/typescript';
import { connected, type ConnectionFlags, withClient } from '../client';
import { problemText, quoted } from '../output';
import { type Column, table } from '../table';
import { CliError, clockText, EXIT, type Terminal, UsageError } from '../terminal';
import { freeText, listedPages, type Resource, type ResourceKind, type RevokeTarget, timeMs } from './kinds';

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
async function revokeOverNames<T extends Resource>(
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

interface RevokeFlags extends ConnectionFlags {
  token?: bigint;
  all?: boolean;
  waiter?: number;
  holder?: string;
  identity?: string;
  prefix?: string;
  yes?: boolean;
  dryRun?: boolean;
  force?: boolean;
  reason: string;
}

/** Adds `revoke`, which ends leases and waits of one name, or those of one holder over names. */
export function addRevoke<T extends Resource>(
  parent: Command,
  kind: ResourceKind<T>,
  terminal: Terminal,
): void {
  const { word } = kind;
  const command = parent
    .command('revoke')
    .summary(`end the leases of a ${word}, or of a holder`)
    .description(
      `Ends a lease of a ${word}, all its leases, or the wait of one waiter. The holder is told at once. ` +
        `Without --force the ${word} becomes free only when the holder can no longer believe in its lease. ` +
        `With --holder or --identity instead of a name, ends the leases and waits of that holder in all ${word}s: ` +
        `shows them, asks, and revokes each by its token, so that nobody who comes later is hit. ` +
        `Looks at the first 16 holders and waiters of each ${word}.`,
    )
    .argument('[name]', `name of the ${word}`)
    .option('--token <token>', 'the lease with this fencing token', wholeNumber)
    .option('--all', 'all leases')
    .option('--waiter <place>', 'the waiter at this place of the queue', (text) => Number(wholeNumber(text)))
    .option('--force', `free the ${word} at once, although the holder may still work`)
    .option('--reason <text>', "reason for the servers' audit log", '')
    .optionsGroup('Over names:')
    .option('--holder <label>', 'the leases and waits of this label, which a client has chosen')
    .option('--identity <identity>', 'the leases and waits of this proven identity')
    .option('--prefix <prefix>', 'only in names that begin with this text')
    .option('--dry-run', 'only show what would be revoked')
    .option('-y, --yes', 'do not ask');
  connected(command).action(async (name: string | undefined, flags: RevokeFlags) => {
    const { holder = '', identity = '', prefix = '', reason } = flags;
    checkUse(name, flags);
    const force = flags.force === true;
    if (name === undefined) {
      const more = { yes: flags.yes === true, dryRun: flags.dryRun === true };
      const wanted = { holderId: holder, identity, namePrefix: prefix, force, reason, ...more };
      await withClient(terminal, flags, (hf) => revokeOverNames(kind, hf, terminal, wanted));
      return;
    }
    const revoked = await withClient(terminal, flags, async (hf) => {
      const target = await revokeTarget(kind, hf, name, flags);
      return kind.revoke(hf, { name, target, force, reason });
    });
    if (revoked.revokedCount === 0) {
      throw new CliError(`nothing to revoke: ${word} ${quoted(name)} has no such lease or waiter any more`);
    }
    const when = flags.waiter === undefined ? `; ${freeText(revoked)}` : '';
    terminal.err.write(`revoked: ${revoked.revokedCount}${when}\n`);
  });
}

/** An empty label or identity is a mistake of a script, and not the wish to end everything. */
function checkUse(
  name: string | undefined,
  { token, all, waiter, holder, identity, ...over }: RevokeFlags,
): void {
  const targets = [token, all, waiter].filter((value) => value !== undefined).length;
  const whose = [holder, identity].filter((value) => value !== undefined);
  if (whose.includes('')) throw new UsageError('--holder and --identity must not be empty');
  if (name === undefined) {
    if (whose.length === 0) throw new UsageError('give a name, or --holder or --identity');
    if (targets > 0) throw new UsageError('--token, --all and --waiter need a name');
    return;
  }
  if (whose.length > 0 || over.prefix !== undefined || over.yes || over.dryRun) {
    throw new UsageError(
      'with a name, --holder, --identity, --prefix, --dry-run and --yes have no meaning; give --prefix in place of the name',
    );
  }
  if (targets !== 1) throw new UsageError('give one of --token, --all and --waiter');
}

async function revokeTarget<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  name: string,
  { token, waiter }: RevokeFlags,
): Promise<RevokeTarget> {
  if (token !== undefined) return { kind: 'token', fencingToken: token };
  if (waiter === undefined) return { kind: 'all' };
  const { waiters } = await kind.get(hf, name);
  const enqueueTime = waiters.find(({ position }) => position === waiter)?.enqueueTime;
  if (enqueueTime === undefined) {
    throw new CliError(
      `${kind.word} ${quoted(name)} has no waiter at place ${waiter}, or the place is beyond the first 16`,
    );
  }
  return { kind: 'waiter', position: waiter, enqueueTime };
}

function wholeNumber(text: string): bigint {
  if (!/^[1-9]\d{0,15}$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return BigInt(text);
}
