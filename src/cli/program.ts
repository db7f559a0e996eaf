import { Command } from 'commander';
import { readVersion } from '../base/redis-address';
import { addDictionaryCommands } from './autocomplete/dictionaries';
import { addEntryCommands } from './autocomplete/entries';
import { addRecents } from './autocomplete/recents-commands';
import { addSuggest, addType } from './autocomplete/suggest';
import { addCall } from './commands/call-command';
import { addChecks } from './commands/checks';
import { addContext } from './commands/context-command';
import { addHealth, addServers } from './commands/servers';
import { addStatus } from './commands/status';
import { addTop } from './commands/top';
import { addExport, addImport } from './commands/transfer';
import { addCompletion } from './completion/completion';
import { addLock, addSemaphore } from './leases/lease-commands';
import { addElect } from './leases/run';
import { quoted } from './output';
import { exitCodeHelp, type Terminal, UsageError, wantsColour } from './terminal';

/** `holdfast complete`: suggestions, dictionaries, entries and recents, over AutocompleteService. */
function addComplete(program: Command, terminal: Terminal): void {
  const complete = program
    .command('complete')
    .description('Suggest texts; fill, show and delete dictionaries; keep recents.');
  addSuggest(complete, terminal);
  addType(complete, terminal);
  addDictionaryCommands(complete, terminal);
  addEntryCommands(complete, terminal);
  addRecents(complete, terminal);
}

/** The examples of the commands whose help has no longer text of its own. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  '': ['dev', 'lock run nightly-report --wait 5m -- ./report.sh', 'top'],
  lock: ['lock run deploy -- ./deploy.sh', 'lock get deploy'],
  'lock get': ['lock get deploy', 'lock get deploy -o json'],
  'lock list': ['lock list shop/', 'lock list --contended'],
  'lock watch': ['lock watch deploy -o jsonl'],
  'lock revoke': ['lock revoke deploy --all --reason "stuck since noon"'],
  semaphore: ['semaphore run gpu --limit 8 -- python3 train.py', 'semaphore get gpu'],
  'semaphore get': ['semaphore get gpu', 'semaphore get gpu -o json'],
  'semaphore list': ['semaphore list shop/', 'semaphore list --contended'],
  'semaphore watch': ['semaphore watch gpu -o jsonl'],
  'semaphore revoke': ['semaphore revoke gpu --waiter 1'],
  'semaphore set-limit': ['semaphore set-limit gpu 8', 'semaphore set-limit gpu 0 --expected 8'],
  'semaphore pause': ['semaphore pause gpu', 'semaphore pause gpu --expected 8'],
  'semaphore resume': ['semaphore resume gpu'],
  'semaphore delete': ['semaphore delete gpu'],
  complete: ['complete import towns towns.csv', 'complete suggest towns "new yo"'],
  'complete create': ['complete create towns'],
  'complete get': ['complete get towns'],
  'complete list': ['complete list shop/'],
  'complete entries': ['complete entries towns new -o jsonl'],
  'complete delete': ['complete delete towns 3 4', 'complete delete towns --all'],
  'complete recents': ['complete recents add bob "New York"', 'complete recents list bob'],
  'complete recents add': ['complete recents add bob "New York" --entry-id 3'],
  'complete recents list': ['complete recents list bob'],
  'complete recents remove': ['complete recents remove bob --entry-id 3'],
  'complete recents delete': ['complete recents delete bob'],
  import: ['import all.jsonl --dry-run'],
  status: ['status', 'status --all --address lock-1,lock-2'],
  'end-quarantine': ['end-quarantine --reason "all clients have stopped"'],
  context: ['context set prod --address lock-1,lock-2 --tls', 'context use prod'],
  'context set': ['context set prod --address lock-1 --tls --token-file ~/.token'],
  'context use': ['context use prod'],
  'context delete': ['context delete prod'],
  'context list': ['context list'],
  health: ['health', 'health --address lock-1'],
  dev: ['dev'],
  'check-config': ['check-config --show'],
  help: ['help lock run'],
};

/** Adds the examples to the help of each command below. */
function addExamples(command: Command, path: readonly string[] = []): void {
  const examples = EXAMPLES[path.join(' ')];
  if (examples !== undefined) {
    const lines = examples.map((one) => `  holdfast ${one}`).join('\n');
    command.addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`);
  }
  for (const one of command.commands) addExamples(one, [...path, one.name()]);
}

/** The program with all commands. `parseAsync` rejects with a CommanderError, a CliError or a HoldfastError. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command('holdfast')
    .description('Locks, semaphores and autocomplete of Holdfast servers.')
    .version(readVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .exitOverride()
    .showHelpAfterError('(--help shows the options and examples)')
    .configureOutput({
      writeOut: (text) => terminal.out.write(text),
      writeErr: (text) => terminal.err.write(text),
      // Commander begins with "error: ". Every message of this program names the program.
      outputError: (text, write) => write(text.replace(/^error: /, 'holdfast: ')),
      getOutHelpWidth: () => terminal.columns ?? 80,
      getErrHelpWidth: () => 80,
      getOutHasColors: () => terminal.outHasColour,
      getErrHasColors: () => wantsColour(terminal.env, terminal.errIsTerminal),
    })
    // Beside a long command, the text wraps in what is left of 80 columns.
    .configureHelp({ minWidthToWrap: 20 })
    .addHelpText('after', exitCodeHelp());
  addLock(program, terminal);
  addSemaphore(program, terminal);
  addElect(program, terminal);
  addComplete(program, terminal);
  addExport(program, terminal);
  addImport(program, terminal);
  addTop(program, terminal);
  addCall(program, terminal);
  addStatus(program, terminal);
  addContext(program, terminal);
  addHealth(program, terminal);
  addServers(program, terminal);
  addChecks(program, terminal);
  addCompletion(program, terminal);
  addHelp(program);
  addExamples(program);
  return program;
}

/** `holdfast help lock run`, as `holdfast lock run --help`. The own command of commander knows one level only. */
function addHelp(program: Command): void {
  program
    .helpCommand(false)
    .command('help')
    .summary('print the help of a command')
    .description('Prints the help of a command, as its --help does.')
    .argument('[command...]', 'the command, for example "lock run"')
    .action((words: readonly string[]) => {
      let found = program;
      for (const word of words) {
        const next = found.commands.find((one) => one.name() === word);
        if (next === undefined) throw new UsageError(`there is no command ${quoted(words.join(' '))}`);
        found = next;
      }
      found.help();
    });
}
