import type { ServerProcess } from '../../../test/support/processes/server-process';
import { BenchClient } from '../../load/bench-client';
import type { SuggestTasks } from '../../load/suggest';
import { LoadProcess } from '../../support/load-process';
import { startBenchServer } from '../../support/server';
import { onStage, type Stage } from '../../support/stage';
import { prepareWords } from '../../words/words';
import type { PartContext } from './part';

/** A server and its own client. */
export interface AskedServer {
  readonly server: ServerProcess;
  readonly client: LoadProcess<SuggestTasks>;
  readonly bench: BenchClient;
}

export type Environment = Readonly<Record<string, string>>;

export function question(dictionary: string) {
  return { question: { dictionary, query: 'a', kinds: [] } };
}

export async function asking<T>(server: ServerProcess, work: (asked: AskedServer) => Promise<T>): Promise<T> {
  const client = new LoadProcess<SuggestTasks>('suggest');
  const bench = new BenchClient(server.listen);
  try {
    await client.ask('connect', { address: server.listen });
    return await work({ server, client, bench });
  } finally {
    bench.close();
    client.end();
  }
}

/** Starts another server for this work. */
export async function withServer<T>(
  redisUrl: string,
  env: Environment,
  work: (asked: AskedServer) => Promise<T>,
): Promise<T> {
  const server = await startBenchServer(redisUrl, { env });
  try {
    return await asking(server, work);
  } finally {
    await server.close();
  }
}

/** Starts Redis and a server, with the words for its dictionaries. */
export async function onAskedStage<T>(
  { say }: PartContext,
  work: (stage: Stage & AskedServer) => Promise<T>,
  env: Environment = {},
): Promise<T> {
  await prepareWords(say);
  return onStage((stage) => asking(stage.server, (asked) => work({ ...stage, ...asked })), { env });
}
