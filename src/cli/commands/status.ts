import type { Command } from 'commander';
import {
  featureToJSON,
  GetServerInfoResponse,
  quarantineCauseToJSON,
  ServerServiceService as service,
  storeStateToJSON,
} from '../../../generated/typescript/holdfast/v1/server_service';
import { durationToMs } from '../../../clients/typescript/duration';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { connected, outputOf, printing, withClient, type OutputFlags } from '../command-setup';
import type { ConnectionFlags } from '../connection/settings';
import { fields } from '../output/table';
import { spanText } from '../output/spans';
import type { Terminal } from '../terminal';

export function addStatus(program: Command, terminal: Terminal): void {
  const command = program
    .command('status')
    .summary('show a server, its store and a quarantine')
    .description(
      'Shows the version of a server, the state of its store, the warnings about the store, and a quarantine.',
    );
  connected(printing(command)).action(async (flags: ConnectionFlags & OutputFlags) => {
    const info = await withClient(terminal, flags, (hf) => hf.call(service.getServerInfo, {}));
    await outputOf(terminal, flags).one(GetServerInfoResponse.toJSON(info), () => lines(info));
  });

  const end = program
    .command('end-quarantine')
    .summary('grant again before a quarantine has ended')
    .description(
      'Ends a quarantine. Do so only if no client can still believe in a lease that the store has lost: every such client has stopped, or its ttl has passed since the loss.',
    )
    .requiredOption('--reason <text>', "reason for the servers' audit log");
  connected(end).action(async (flags: ConnectionFlags & { reason: string }) => {
    const { endedQuarantine, risk } = await withClient(terminal, flags, (hf) =>
      hf.call(service.endQuarantine, { reason: flags.reason }),
    );
    if (endedQuarantine === undefined) terminal.err.write('there was no quarantine\n');
    else
      terminal.err.write(`ended ${ms(endedQuarantine.remainingDuration)} early${risk ? `: ${risk}` : ''}\n`);
  });
}

function lines(info: GetServerInfoResponse): string[] {
  const { version, minTtl, defaultTtl, maxTtl, features, storeState, storeWarnings, quarantine } = info;
  return fields([
    ['version', version],
    ['store', storeStateToJSON(storeState).replace('STORE_STATE_', '').toLowerCase()],
    [
      'quarantine',
      quarantine &&
        `${ms(quarantine.remainingDuration)} left, because of ${quarantineCauseToJSON(quarantine.cause).replace('QUARANTINE_CAUSE_', '')}`,
    ],
    ...storeWarnings.map((warning) => ['warning', warning] as const),
    ['ttl', `${ms(minTtl)} to ${ms(maxTtl)}, default ${ms(defaultTtl)}`],
    ['features', features.map((one) => featureToJSON(one).replace('FEATURE_', '').toLowerCase()).join(', ')],
  ]);
}

function ms(duration: Duration | undefined): string {
  return duration ? spanText(durationToMs(duration) ?? 0) : '0s';
}
