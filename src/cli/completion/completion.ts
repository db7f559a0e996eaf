import { Argument, type Command } from 'commander';
import { bashScript, type CommandNode, commandTree, fishScript, zshScript } from './shells';
import { Output } from '../output';
import type { Terminal } from '../terminal';

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } satisfies Record<
  string,
  (program: CommandNode) => string
>;

/** `holdfast completion`: a script with all commands, options and choices of this program. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .summary('print a completion script for a shell')
    .description('Prints a script that completes commands, options and their values in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(SCRIPTS)))
    .addHelpText('after', COMPLETION_HELP)
    .action((shell: keyof typeof SCRIPTS) =>
      new Output(terminal, 'table').write(SCRIPTS[shell](commandTree(program))),
    );
}

const COMPLETION_HELP = `
Examples:
  echo 'source <(holdfast completion bash)' >> ~/.bashrc
  echo 'source <(holdfast completion zsh)' >> ~/.zshrc
  holdfast completion fish > ~/.config/fish/completions/holdfast.fish`;
