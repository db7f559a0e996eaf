import type { Command } from 'commander';
import { connected, type ConnectionFlags, type OutputFlags, outputOf, printing, withClient } from '../client';
import { jsonText, quoted } from '../output';
import { type Terminal, timeOfDayMs, timeOfDayText } from '../terminal';
import { escapeText } from '../../base/text';
import {
  firstHolder,
  firstIdentity,
  listedPages,
  type Resource,
  type ResourceKind,
  resourceLines,
} from './kinds';
import { addRevoke } from './revoke';
import { notePause, pauseOfServers } from '../server-trouble';
import { WatchGap } from './watch-gap';

type Flags = ConnectionFlags & OutputFlags;

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
    const [resource, pause] = await withClient(terminal, flags, async (hf) => {
      const asked = pauseOfServers(hf);
      try {
        return [await kind.get(hf, name), await asked] as const;
      } catch (error) {
        // A semaphore may be missing because the store was emptied.
        await notePause(asked, terminal);
        throw error;
      }
    });
    // JSON is the resource alone.
    if (flags.output !== 'table') await notePause(pause, terminal);
    await outputOf(terminal, flags).one(kind.toJson(resource), () =>
      resourceLines(kind, resource, terminal, timeOfDayMs(), pause),
    );
  });
}

interface ListFlags extends Flags {
  holder?: string;
  identity?: string;
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
    .option('--holder <label>', 'only with a holder or a waiter of this label, which its client has chosen')
    .option('--identity <identity>', 'only with a holder or a waiter of this proven identity')
    .option('--contended', 'the names with the most waiters first, at most 500');
  connected(printing(command)).action(async (prefix: string, flags: ListFlags) => {
    const { holder = '', identity = '', contended = false } = flags;
    const query = { namePrefix: prefix, holderId: holder, identity, byWaiterCount: contended };
    const identities = { title: 'IDENTITY', value: firstIdentity, mayShrink: true, isOnlyIfUsed: true };
    const columns = [...kind.columns, identities];
    await withClient(terminal, flags, async (hf) => {
      const noted = notePause(pauseOfServers(hf), terminal);
      const pages = listedPages(kind, hf, query, terminal);
      await outputOf(terminal, flags).rows(pages, (row) => kind.toJson(row), columns);
      await noted;
    });
  });
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
