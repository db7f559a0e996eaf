import type { Command } from 'commander';
import { CallChannel } from '../../../clients/typescript/calls/call-channel';
import { addressList } from '../../../clients/typescript/connection/addresses';
import { Servers } from '../../../clients/typescript/connection/servers';
import {
  HealthService,
  HealthCheckResponse_ServingStatus as Status,
} from '../../../generated/typescript/grpc/health/v1/health';
import { connected, type ConnectionFlags, connectionSettings } from '../client';
import { CliError, type Terminal } from '../terminal';

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

interface HealthFlags extends ConnectionFlags {
  service: string;
  alive?: boolean;
}

const DEFAULT_TIMEOUT = '3s';

/** Adds `health`, the probe of containers. The call needs no credential and sends none. */
export function addHealth(program: Command, terminal: Terminal): void {
  const command = program
    .command('health')
    .summary('ask a server for its health: a probe for containers')
    .description(
      'Asks the first server of --address for its health (grpc.health.v1). Ends with 0 if the server is SERVING, with 1 if not, and with 69 if there is no answer. Waits 3s at most by default.',
    )
    .option('--service <name>', '"holdfast.grants": not SERVING while grants pause', '')
    .option('--alive', 'end with 0 after every answer: restart a server only if there is none');
  connected(command).action(async (flags: HealthFlags) => {
    const { address, options } = connectionSettings(flags, terminal.env);
    const channel = new CallChannel({
      servers: new Servers(addressList(address).slice(0, 1)),
      tls: options.tls,
    });
    try {
      const bounds = { timeout: options.timeout ?? DEFAULT_TIMEOUT, signal: terminal.interrupted };
      const { status } = await channel.unary(HealthService.check, { service: flags.service }, bounds);
      terminal.out.write(`${Status[status]}\n`);
      if (status !== Status.SERVING && !flags.alive) throw new CliError('the server is not serving');
    } finally {
      channel.close();
    }
  });
}
