/**
 * The conformance driver of the TypeScript client: JSON commands on stdin, results and events on stdout, as
 * clients/conformance/README.md describes.
 */
import { createInterface } from 'node:readline';
import { COMMANDS } from './commands';
import { Desk } from './desk';
import { Cancelled, failureOf } from './failures';

function write(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

const desk = new Desk(write);

async function run(command: Readonly<Record<string, unknown>>): Promise<void> {
  const { id, do: verb } = command;
  const serve = COMMANDS[String(verb)];
  if (!serve) return write({ id, unsupported: true });
  try {
    write({ id, ...(await serve(desk, command)) });
  } catch (error) {
    if (error instanceof Cancelled) write({ id, cancelled: true });
    else write({ id, error: failureOf(error) });
  } finally {
    desk.ended(id);
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void run(JSON.parse(line) as Record<string, unknown>));
// The leases are left to the ends of their ttl.
lines.on('close', () => process.exit(0));
write({ ready: true, language: 'typescript', protocol: 1 });
