import { InvalidArgumentError, type Command } from 'commander';
import type { Holdfast } from '../../../clients/typescript';
import { connected, outputOf, printing, withClient, type OutputFlags } from '../command-setup';
import type { ConnectionFlags } from '../connection/settings';
import { CliError, UsageError } from '../exit-codes';
import { jsonText } from '../output/json';
import { quoted } from '../output/quoted';
import { spanText } from '../output/spans';
import type { Terminal } from '../terminal';
import { escapeText } from '../../wire/escape-text';
import { timeOfDayMs, timeOfDayText } from '../time-of-day';
import { timeMs } from './requests';
import type { Resource, ResourceKind, RevokeTarget } from './resource-kind';
import { firstHolder, resourceLines } from './resource-text';
import { WatchGap } from './watch-gap';

type Flags = ConnectionFlags & OutputFlags;

/** The page size of lists. */
const PAGE_SIZE = 500;

/** Adds `get`, `list`, `watch` and `revoke`, which are the same for locks and semaphores. */
export function addResourceCommands<T extends Resource>(
  parent: Command,
  kind: ResourceKind<T>,
  terminal: Terminal,
): void {
  addGet(parent, kind, terminal);
  addList(parent, kind, terminal);
  addWatch(parent, kind, terminal);
  addRevoke(parent, kind, terminal);
}

function addGet<T extends Resource>(parent: Command, kind: ResourceKind<T>, terminal: Terminal): void {
  const command = parent
    .command('get')
    .summary(`show the holders and the queue of a ${kind.word}`)
    .description(`Shows the holders and the queue of a ${kind.word}. At most 16 of each are shown.`)
    .argument('<name>', `name of the ${kind.word}`);
  connected(printing(command)).action(async (name: string, flags: Flags) => {
    const resource = await withClient(terminal, flags, (hf) => kind.get(hf, name));
    await outputOf(terminal, flags).one(kind.toJson(resource), () =>
      resourceLines(kind, resource, terminal, timeOfDayMs()),
    );
  });
}

interface ListFlags extends Flags {
  holder?: string;
  contended?: boolean;
}

function addList<T extends Resource>(parent: Command, kind: ResourceKind<T>, terminal: Terminal): void {
  const command = parent
    .command('list')
    .summary(`list the ${kind.word}s that are in use`)
    .description(
      `Lists the ${kind.word}s that have a holder${kind.word === 'semaphore' ? ', a waiter or a limit' : ' or a waiter'}. The order is not alphabetical.`,
    )
    .argument('[prefix]', 'only names that begin with this text', '')
    .option('--holder <label>', 'only with a holder or a waiter of this label')
    .option('--contended', 'the names with the most waiters first, at most 500');
  connected(printing(command)).action(async (prefix: string, flags: ListFlags) => {
    await withClient(terminal, flags, (hf) =>
      outputOf(terminal, flags).rows(
        pages(kind, hf, prefix, flags, terminal),
        (row) => kind.toJson(row),
        kind.columns,
      ),
    );
  });
}

async function* pages<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  namePrefix: string,
  { holder = '', contended = false }: ListFlags,
  terminal: Terminal,
): AsyncGenerator<readonly T[], void, undefined> {
  let pageToken = '';
  do {
    const query = { namePrefix, holderId: holder, pageSize: PAGE_SIZE, pageToken, byWaiterCount: contended };
    const page = await kind.list(hf, query);
    if (page.sampled)
      terminal.err.write('holdfast: not all names were counted; give a prefix for an exact order\n');
    yield page.rows;
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && !terminal.interrupted.aborted);
}

function addWatch<T extends Resource>(parent: Command, kind: ResourceKind<T>, terminal: Terminal): void {
  const command = parent
    .command('watch')
    .summary(`show each change of a ${kind.word}`)
    .description(
      `Shows the state of a ${kind.word} at once, and after each change, until Ctrl-C. A slow reader gets the latest state. stderr says so once if the server is silent, if no server answers, or if the server does not reach its store. After a silent server, the watch goes on at the next address.`,
    )
    .argument('<name>', `name of the ${kind.word}`);
  connected(printing(command)).action(async (name: string, flags: Flags) => {
    const output = outputOf(terminal, flags);
    const gap = new WatchGap(terminal, `${kind.word} ${quoted(name)}`);
    await withClient(terminal, flags, async (hf) => {
      const open = (signal: AbortSignal) => kind.watch(hf, name, signal);
      for await (const state of gap.states(hf, terminal.interrupted, open)) {
        if (output.format === 'table') await output.write(`${watchLine(state)}\n`);
        else await output.write(`${jsonText(kind.toJson(state))}\n`);
      }
    });
  });
}

function watchLine(state: Resource): string {
  const time = timeOfDayText();
  const token = state.lastFencingToken === 0n ? '' : `  token ${state.lastFencingToken}`;
  return `${time}  ${escapeText(firstHolder(state))}${token}  waiters ${state.waiterCount}`;
}

interface RevokeFlags extends ConnectionFlags {
  token?: bigint;
  all?: boolean;
  waiter?: number;
  force?: boolean;
  reason?: string;
}

function addRevoke<T extends Resource>(parent: Command, kind: ResourceKind<T>, terminal: Terminal): void {
  const command = parent
    .command('revoke')
    .summary(`end the leases of a ${kind.word}`)
    .description(
      `Ends a lease of a ${kind.word}, all its leases, or the wait of one waiter. The holder is told at once. ` +
        `Without --force the ${kind.word} becomes free only when the holder can no longer believe in its lease.`,
    )
    .argument('<name>', `name of the ${kind.word}`)
    .option('--token <token>', 'the lease with this fencing token', wholeNumber)
    .option('--all', 'all leases')
    .option('--waiter <place>', 'the waiter at this place of the queue', (text) => Number(wholeNumber(text)))
    .option('--force', `free the ${kind.word} at once, although the holder may still work`)
    .option('--reason <text>', "reason for the servers' audit log", '');
  connected(command).action(async (name: string, flags: RevokeFlags) => {
    const { revokedCount, freeTime } = await withClient(terminal, flags, async (hf) => {
      const target = await revokeTarget(kind, hf, name, flags);
      return kind.revoke(hf, { name, target, force: flags.force === true, reason: flags.reason ?? '' });
    });
    if (revokedCount === 0) {
      throw new CliError(
        `nothing to revoke: ${kind.word} ${quoted(name)} has no such lease or waiter any more`,
      );
    }
    const wait = freeTime === undefined ? 0 : timeMs(freeTime) - timeOfDayMs();
    const when = flags.waiter !== undefined ? '' : wait > 0 ? `; free in ${spanText(wait)}` : '; free now';
    terminal.err.write(`revoked: ${revokedCount}${when}\n`);
  });
}

async function revokeTarget<T extends Resource>(
  kind: ResourceKind<T>,
  hf: Holdfast,
  name: string,
  { token, all, waiter }: RevokeFlags,
): Promise<RevokeTarget> {
  const given = [token, all, waiter].filter((value) => value !== undefined).length;
  if (given !== 1) throw new UsageError('give one of --token, --all and --waiter');
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
