import type { Command } from 'commander';
import { CallChannel } from '../../../clients/typescript/calls/call-channel';
import { addressList } from '../../../clients/typescript/connection/addresses';
import { Servers } from '../../../clients/typescript/connection/servers';
import {
  HealthCheckResponse_ServingStatus as Status,
  HealthService,
} from '../../../generated/typescript/grpc/health/v1/health';
import { connected } from '../command-setup';
import { connectionSettings, type ConnectionFlags } from '../settings';
import { CliError } from '../exit-codes';
import type { Terminal } from '../terminal';

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
