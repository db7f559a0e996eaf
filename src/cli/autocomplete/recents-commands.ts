import type { Command } from 'commander';
import { AutocompleteServiceService as service } from '../../../generated/typescript/holdfast/v1/autocomplete_service';
import { type Terminal, UsageError, wholeNumber } from '../terminal';
import { connected, type ConnectionFlags, type OutputFlags, outputOf, printing, withClient } from '../client';
import { quoted } from '../output';
import { SUGGESTION_COLUMNS, suggestionToJson } from './suggest';

/** `holdfast complete recents`: the latest choices of one user. */
export function addRecents(parent: Command, terminal: Terminal): void {
  const recents = parent
    .command('recents')
    .summary('keep the latest choices of a user')
    .description('Keep the latest choices of a user.');
  addAdd(recents, terminal);
  addList(recents, terminal);
  addRemove(recents, terminal);
  addDelete(recents, terminal);
}

function addAdd(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('add')
    .summary('put a text at the front of a list')
    .description('Puts a text at the front of a list. The first text creates the list.')
    .argument('<list>', 'name of the list, for example the id of a user')
    .argument('<text>', 'the text')
    .option('--entry-id <id>', 'the dictionary entry that the text stands for')
    .option('--capacity <count>', 'number of texts that the list keeps, 1 to 1000', wholeNumber(1, 1000));
  connected(command).action(
    async (list: string, text: string, flags: ConnectionFlags & { entryId?: string; capacity?: number }) => {
      const { entryId, capacity } = flags;
      await withClient(terminal, flags, (hf) =>
        hf.recents(list).add(text, {
          ...(entryId !== undefined && { entryId }),
          ...(capacity !== undefined && { capacity }),
        }),
      );
      terminal.err.write(`added to the list ${quoted(list)}\n`);
    },
  );
}

function addList(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('list')
    .summary('show the latest texts of a list')
    .description(
      'Shows the latest texts of a list, or the texts that match a query. A missing list is empty.',
    )
    .argument('<list>', 'name of the list')
    .argument('[query]', 'only texts that match', '')
    .option('--limit <count>', 'the largest number of texts, at most 100', wholeNumber(1, 100), 10);
  connected(printing(command)).action(
    async (list: string, query: string, flags: ConnectionFlags & OutputFlags & { limit: number }) => {
      await withClient(terminal, flags, async (hf) => {
        const rows = await hf.recents(list).suggest(query, { limit: flags.limit });
        await outputOf(terminal, flags).rows([rows], suggestionToJson, SUGGESTION_COLUMNS);
      });
    },
  );
}

function addRemove(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('remove')
    .summary('remove a text from a list')
    .description('Removes a text from a list. A missing text is no error.')
    .argument('<list>', 'name of the list')
    .argument('[text]', 'a text that was added without an entry id')
    .option('--entry-id <id>', 'the text with this entry id');
  connected(command).action(
    async (list: string, text: string | undefined, flags: ConnectionFlags & { entryId?: string }) => {
      const { entryId = '' } = flags;
      if ((text === undefined) === (entryId === '')) throw new UsageError('give a text or --entry-id');
      const { removed } = await withClient(terminal, flags, (hf) =>
        hf.call(service.removeRecent, { list, entryId, text: text ?? '' }),
      );
      terminal.err.write(removed ? 'removed\n' : 'the list did not have the text\n');
    },
  );
}

function addDelete(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('delete')
    .summary('delete a whole list')
    .description('Deletes a whole list, for example to forget a user. A missing list is no error.')
    .argument('<list>', 'name of the list');
  connected(command).action(async (list: string, flags: ConnectionFlags) => {
    const wasThere = await withClient(terminal, flags, (hf) => hf.recents(list).delete());
    terminal.err.write(wasThere ? `deleted: list ${quoted(list)}\n` : 'there was no such list\n');
  });
}
