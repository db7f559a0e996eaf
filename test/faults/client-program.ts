/**
 * A client as a process of its own, for tests that kill or stop clients: does the one call that its argument names
 * (see client-process.ts), writes its history to a file, and stays until it is ended.
 */
import { FileSink, Recorder } from '../support/history-recorder';
import { RecordedClient } from './recorded-client';

export interface ClientTask {
  /** Its name in the history. */
  readonly client: string;
  readonly historyFile: string;
  readonly address: string;
  readonly call: 'acquire' | 'hold';
  readonly name: string;
  readonly ttlMs: number;
}

async function run({ client: label, historyFile, address, call, name, ttlMs }: ClientTask): Promise<void> {
  const client = new RecordedClient(label, address, new Recorder(label, new FileSink(historyFile)));
  setInterval(() => undefined, 60_000);
  if (call === 'hold') client.hold({ name, ttlMs });
  else await client.acquire({ name, ttlMs });
}

if (require.main === module) {
  run(JSON.parse(process.argv[2] ?? '{}') as ClientTask).catch((error: unknown) => {
    console.error(error);
    process.exit(1);
  });
}
