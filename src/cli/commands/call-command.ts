import { Option, type Command } from 'commander';
import { HoldfastError } from '../../../clients/typescript';
import { escapeText } from '../../base/text';
import { CliError, exitCodeOf, type Terminal, timeSpan } from '../terminal';
import { connected, type ConnectionFlags, connectionSettings } from '../client';
import { interruptible, linesOf } from '../files/records';

interface CallFlags extends ConnectionFlags {
  output: 'json' | 'jsonl';
  deadline?: number;
}

/** `holdfast call`: any call of a server, as the server describes the call. */
export function addCall(program: Command, terminal: Terminal): void {
  const command = program
    .command('call')
    .summary('send any call of the contract')
    .description(
      'Sends one call with a request in the JSON form of protobuf, and prints each answer. The call is not repeated. ' +
        'The server describes its calls, so newer servers have more calls. Calls with several requests are not possible.',
    )
    .argument('<method>', 'SERVICE/METHOD; "holdfast.v1." may be left out')
    .argument('[json]', 'the request; - reads stdin', '{}')
    .optionsGroup('Output:')
    .addOption(
      new Option('-o, --output <format>', 'format of the answers').choices(['json', 'jsonl']).default('json'),
    )
    .optionsGroup('Options:')
    .option('--deadline <time>', 'longest time of the call (default: no bound)', timeSpan);
  connected(command)
    .addHelpText('after', CALL_HELP)
    .action(async (name: string, json: string, flags: CallFlags) => {
      const { address, options } = connectionSettings(flags, terminal.env);
      const text = json === '-' ? await stdinText(terminal) : json;
      // Only here, because every other command starts sooner without the descriptors.
      const { call, describedMethod, openChannel } = await import('../calls.js');
      const channel = await openChannel(address, options);
      try {
        await call(terminal, channel, await describedMethod(channel, name), text, flags);
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        terminal.err.write(factsText(error));
        // The caller has written the fields, so the text keeps their names.
        throw new CliError(error.message, exitCodeOf(error));
      } finally {
        channel.client.close();
      }
    });
}

const CALL_HELP = `
An error shows its reason and its facts on stderr.

Examples:
  holdfast call LockService/GetLock '{"name":"deploy"}'
  holdfast call SemaphoreService/WatchSemaphore '{"name":"gpu"}' -o jsonl
  holdfast call grpc.health.v1.Health/Check`;

async function stdinText({ input, interrupted }: Terminal): Promise<string> {
  let text = '';
  for await (const line of linesOf(interruptible(input, interrupted), 'stdin')) text += `${line.text}\n`;
  return text;
}

/** The facts by which programs decide. The text of the error comes after them, as the last line. */
function factsText({ reason, metadata, violations, retryAfterMs }: HoldfastError): string {
  const lines = [
    ...(reason ? [`reason: ${reason}`] : []),
    ...[...metadata].map(([key, value]) => `${key}: ${value}`),
    ...violations.map(({ field, description }) => `field ${field}: ${description}`),
    ...(retryAfterMs === undefined ? [] : [`retry after: ${retryAfterMs} ms`]),
  ];
  return lines.map((line) => `${escapeText(line)}\n`).join('');
}
