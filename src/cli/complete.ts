import type { Command } from 'commander';
import type { Terminal } from './terminal';
import { addDictionaryCommands } from './autocomplete/dictionaries';
import { addEntryCommands } from './autocomplete/entries';
import { addRecents } from './autocomplete/recents-commands';
import { addSuggest, addType } from './autocomplete/complete-suggest';

/** `holdfast complete`: suggestions, dictionaries, entries and recents, over AutocompleteService. */
export function addComplete(program: Command, terminal: Terminal): void {
  const complete = program
    .command('complete')
    .description('Suggest texts; fill, show and delete dictionaries; keep recents.');
  addSuggest(complete, terminal);
  addType(complete, terminal);
  addDictionaryCommands(complete, terminal);
  addEntryCommands(complete, terminal);
  addRecents(complete, terminal);
}
