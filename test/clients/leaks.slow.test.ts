import { readdirSync, readlinkSync } from 'node:fs';
import { DriverProcess, type Message } from '../../clients/conformance/kit/driver-process';
import { declaredLanguages, prepareLanguage } from '../../clients/conformance/kit/languages';
import { eventually, eventuallyPasses } from '../support/eventually';
import { sayNotChecked } from '../support/not-checked';
import { RedisProcess } from '../support/processes/redis-process';
import { ServerProcess } from '../support/processes/server-process';

/**
 * A client that is closed leaves no thread, task, timer or socket in its process. Each language's driver of the conformance
 * cases opens and closes clients one after the other. The first client also starts the parts of the libraries that a process
 * keeps, such as gRPC's threads, so the counts after that client are the bound for all later clients.
 */

/** The first build downloads packages and compiles gRPC. */
const TIMEOUT_MS = 900_000;
const ANSWER_MS = 60_000;
/** An idle thread of gRPC for Java ends after a second. */
const SETTLE_MS = 30_000;
const CLIENTS = 8;
const LEASES = 20;

let redis: RedisProcess;
let server: ServerProcess;

beforeAll(async () => {
  redis = await RedisProcess.start();
  server = await ServerProcess.start({ redisUrl: redis.url });
});

afterAll(async () => {
  await server?.close();
  await redis?.close();
});

/** The driver of a language, by its commands. */
class Driver {
  private readonly sent = new Set<number>();
  private readonly process: DriverProcess;

  constructor(command: readonly string[]) {
    this.process = new DriverProcess(command, this.sent, () => undefined);
  }

  get pid(): number {
    return this.process.pid;
  }

  /** Resolves to the result of the command, also if the result is an error. */
  async run(verb: string, fields: object = {}): Promise<Message> {
    const id = this.sent.size + 1;
    this.sent.add(id);
    this.process.send({ id, do: verb, client: 'c', ...fields });
    const { results } = this.process;
    await eventually(`the result of ${verb}`, () => results.has(id), { timeoutMs: ANSWER_MS });
    return results.get(id)?.message ?? {};
  }

  end(): void {
    this.process.signal('SIGKILL');
  }
}

/** Opens a client, has everything that a client can have open, and closes the client. */
async function useAndClose(driver: Driver, turn: string): Promise<void> {
  const dictionary = `${turn}-words`;
  await driver.run('connect', { addresses: [server.listen] });
  for (let index = 0; index < LEASES; index += 1) {
    const name = `${turn}-${index}`;
    expect(await driver.run('lock', { lease: name, name })).toHaveProperty('granted');
  }
  const waiting = driver.run('lock', { lease: 'waiting', name: `${turn}-0` });
  const observing = driver.run('observe', { election: `${turn}-0` });
  expect(await driver.run('create_dictionary', { dictionary })).toMatchObject({ ok: true });
  await driver.run('type_ahead', { dictionary, as: turn });
  expect(await driver.run('type', { as: turn, query: 'a' })).toHaveProperty('suggestions');
  expect(await driver.run('close')).toMatchObject({ closed: true });
  expect(await waiting).toMatchObject({ error: { class: 'closed' } });
  await observing;
}

/** The sockets and threads of the process by the system, and the tasks by the language. */
async function countsOf(driver: Driver): Promise<Record<string, number>> {
  // gRPC for Python closes the socket of a cancelled stream when the stream's object is collected.
  await driver.run('bench_settle');
  const folder = `/proc/${driver.pid}`;
  const { id: _, ...own } = (await driver.run('leaks')) as Record<string, number>;
  return {
    ...own,
    'sockets of the process': readdirSync(`${folder}/fd`).filter((name) => isSocket(`${folder}/fd/${name}`))
      .length,
    'threads of the process': readdirSync(`${folder}/task`).length,
  };
}

function isSocket(descriptor: string): boolean {
  try {
    return readlinkSync(descriptor).startsWith('socket:');
  } catch {
    return false; // Closed meanwhile.
  }
}

/**
 * The runtimes start threads of their own when they like, so fewer new threads than clients are no leak. All other counts
 * are exact.
 */
function leaked(before: Readonly<Record<string, number>>, after: Readonly<Record<string, number>>): string[] {
  return Object.entries(after).flatMap(([what, count]) => {
    const more = count - (before[what] ?? 0);
    const allowed = what === 'threads of the process' ? CLIENTS - 1 : 0;
    return more > allowed ? [`${what}: ${more} more`] : [];
  });
}

test.each(declaredLanguages())(
  'a closed client in %s leaves no thread, task, timer or socket',
  async (name) => {
    const language = await prepareLanguage(name);
    if ('missing' in language) return sayNotChecked(`leaks of the client in ${name}`, language.missing);
    const driver = new Driver(language.start);
    try {
      await useAndClose(driver, `${name}-first`);
      const before = await countsOf(driver);
      for (let turn = 0; turn < CLIENTS; turn += 1) await useAndClose(driver, `${name}-${turn}`);
      await eventuallyPasses(
        'the counts of before',
        async () => expect(leaked(before, await countsOf(driver))).toEqual([]),
        { timeoutMs: SETTLE_MS, everyMs: 500 },
      );
    } finally {
      driver.end();
    }
  },
  TIMEOUT_MS,
);
