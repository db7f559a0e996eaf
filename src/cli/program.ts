import { Command } from 'commander';
import { readVersion } from '../base/version';
import { addCall } from './commands/call-command';
import { addComplete } from './complete';
import { addExport } from './commands/export';
import { addImport } from './commands/import';
import { addCompletion } from './completion/completion';
import { addContext } from './commands/context-command';
import { addLock } from './leases/lock';
import { addSemaphore } from './leases/semaphore';
import { addElect } from './leases/run';
import { addStatus } from './commands/status';
import { addHealth } from './commands/health';
import { addChecks } from './commands/checks';
import { addServers } from './commands/servers';
import { addTop } from './commands/top';
import { addExamples } from './examples';
import { exitCodeHelp, UsageError } from './exit-codes';
import { quoted } from './quoted';
import { wantsColour, type Terminal } from './terminal';

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
