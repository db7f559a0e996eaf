import type { Command } from 'commander';
import type { Terminal } from '../terminal';

/**
 * Adds `serve` and `dev`. Their actions load the server, because the other commands start faster without its modules.
 * The server ends the process itself, with the exit codes of docs/operations/deploy.md.
 */
export function addServers(program: Command, terminal: Terminal): void {
  program
    .command('serve')
    .summary('run a server')
    .description(
      'Runs a server with the settings of the environment (HOLDFAST_REDIS_URL and others) until SIGTERM drains it.',
    )
    .addHelpText('after', '\nExample:\n  HOLDFAST_REDIS_URL=redis://127.0.0.1:6379 holdfast serve')
    .action(async () => {
      terminal.releaseProcess();
      const { serve } = await import('../../main.js');
      await serve(terminal.env);
    });

  program
    .command('dev')
    .summary('run a server with a private Redis, for development')
    .description(
      'Runs a server for development. Starts a private Redis with its data in the folder .holdfast, if HOLDFAST_REDIS_URL is not set. Ctrl-C drains and stops both.',
    )
    .action(async () => {
      terminal.releaseProcess();
      const { startDevelopment } = await import('../../dev/start.js');
      await startDevelopment(terminal.env);
    });
}
