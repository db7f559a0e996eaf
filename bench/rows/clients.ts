import { setTimeout as sleep } from 'node:timers/promises';
import { measuredLanguages, prepareLanguage } from '../../clients/conformance/kit/languages';
import { ClientDriver, type Load } from '../support/client-driver';
import { cpuDuring, residentBytes } from '../support/cpu';
import { tableLine, takeRounds, type Figure } from '../support/figures';
import { onStage, type Stage } from '../support/stage';
import type { Row, RowContext } from './row';

const IN_FLIGHT = [1, 64] as const;
const LEASES = 1000;
const MOST_ATTEMPTS = 5;
const OVERLOADED_PAUSE_MS = 2000;

interface Language {
  readonly name: string;
  readonly start: readonly string[];
}

/** The languages that this machine can build. Says the reason why it lacks others. */
async function languages(say: (text: string) => void): Promise<Language[]> {
  const found: Language[] = [];
  for (const name of measuredLanguages()) {
    const language = await prepareLanguage(name, 'bench');
    if ('missing' in language) say(`${name} is not measured: ${language.missing}`);
    else found.push(language);
  }
  return found;
}

async function withDriver<T>(
  { server }: Stage,
  { start }: Language,
  work: (driver: ClientDriver) => Promise<T>,
): Promise<T> {
  const driver = await ClientDriver.start(start, server.listen);
  try {
    return await work(driver);
  } finally {
    driver.end();
  }
}

/** The CPU of the client and the time, of one operation (µs). */
async function costOf(driver: ClientDriver, { count }: Load, work: () => Promise<void>) {
  const startedAt = performance.now();
  const { spentMs } = await cpuDuring([driver.pid], work);
  const ms = performance.now() - startedAt;
  return { cpu: ((spentMs[0] ?? NaN) * 1000) / count, time: (ms * 1000) / count };
}

async function pairsRound(
  driver: ClientDriver,
  name: string,
  load: Load,
  address: string,
): Promise<Figure[]> {
  const lock = `${name}-${load.in_flight}`;
  const client = await costOf(driver, load, () => driver.pairs(lock, load));
  // A refused attempt leaves locks held.
  const stub = await unlessOverloaded((attempt) =>
    costOf(driver, load, () => driver.stubPairs(`${lock}-stub-${attempt}`, load, address)),
  );
  const title =
    load.in_flight === 1 ? 'acquire and release, in turn' : `acquire and release, ${load.in_flight} at once`;
  return tableLine(title, name, {
    'client CPU': [client.cpu, 'µs'],
    'bare stub CPU': [stub.cpu, 'µs'],
    'CPU by the stub’s': [client.cpu / stub.cpu, '×'],
    time: [client.time, 'µs'],
    'bare stub time': [stub.time, 'µs'],
    'time by the stub’s': [client.time / stub.time, '×'],
  });
}

/** The server refuses some calls of a bare stub if the machine is busy. A client library waits, and calls again. */
async function unlessOverloaded<T>(work: (attempt: number) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work(attempt);
    } catch (error) {
      if (attempt === MOST_ATTEMPTS || !(error as Error).message.includes('[OVERLOADED]')) throw error;
      await sleep(OVERLOADED_PAUSE_MS);
    }
  }
}

/** Pairs with the client and with the bare stub, in one process, so that both have warm code. */
async function pairs(stage: Stage, language: Language, { quick, say }: RowContext): Promise<Figure[]> {
  const counts = quick ? { warmUps: 2, rounds: 3 } : { warmUps: 5, rounds: 7 };
  return withDriver(stage, language, async (driver) => {
    const figures: Figure[] = [];
    for (const in_flight of IN_FLIGHT) {
      const count = in_flight === 1 ? 500 : 2000;
      figures.push(
        ...(await takeRounds(counts, () =>
          pairsRound(driver, language.name, { count, in_flight }, stage.server.listen),
        )),
      );
      say(`${language.name}: ${counts.rounds} rounds of ${count} pairs, ${in_flight} in flight`);
    }
    return figures;
  });
}

const HELD = `${LEASES.toLocaleString('en')} held leases`;

/** A new process, which has already acquired and released as many locks, holds leases while they are renewed. */
async function heldLeases(stage: Stage, language: Language, { quick, say }: RowContext): Promise<Figure[]> {
  const { name } = language;
  const [windows, windowMs] = quick ? [1, 10_000] : [6, 10_000];
  return withDriver(stage, language, async (driver) => {
    const load: Load = { count: LEASES, in_flight: 64 };
    await driver.settle();
    const connected = residentBytes(driver.pid);
    await driver.pairs(`${name}-warm-up`, load);
    await driver.settle();
    const before = residentBytes(driver.pid);
    await driver.hold(`${name}-held`, load);
    await driver.settle();
    const after = residentBytes(driver.pid);
    const costs = await takeRounds({ warmUps: 0, rounds: windows }, async () => {
      const { spentMs } = await cpuDuring([driver.pid], () => sleep(windowMs));
      return tableLine(HELD, name, { 'CPU a second': [((spentMs[0] ?? NaN) * 1000) / windowMs, 'ms'] });
    });
    const held = await driver.settle();
    if (held !== LEASES)
      throw new Error(`${name}: ${LEASES - held} leases were lost: the machine is too busy`);
    say(`${name}: ${LEASES} leases renewed for ${(windows * windowMs) / 1000} s`);
    const megabytes = (bytes: number) => [bytes / 1e6, 'MB'] as const;
    return [
      ...tableLine(HELD, name, {
        connected: megabytes(connected),
        'before the leases': megabytes(before),
        'with the leases': megabytes(after),
        'a lease': [(after - before) / LEASES / 1000, 'kB'],
      }),
      ...costs,
    ];
  });
}

async function run(context: RowContext): Promise<Figure[]> {
  const found = await languages(context.say);
  return onStage(async (stage) => {
    const figures: Figure[] = [];
    for (const language of found) figures.push(...(await pairs(stage, language, context)));
    for (const language of found) figures.push(...(await heldLeases(stage, language, context)));
    return figures;
  });
}

export const clients: Row = {
  name: 'clients',
  title: 'Client packages: acquire and release, and held leases',
  about:
    'The client package of each language, driven by the program of its conformance cases (asyncio in Python, a release build ' +
    'in Rust). CPU is that of the whole client process. The yardstick is the generated stub of the same language in the ' +
    'same process, with unary AcquireLock and ReleaseLock: it renews nothing and notices no loss. In turn, one pair is in ' +
    'flight. With 64 at once, each pair has a lock of its own, and the time is that of the round, divided by its pairs. ' +
    'Time includes server and Redis, which share the cores. Held leases have a TTL of 30 s, so each is renewed about every ' +
    '10 s. CPU a second is that of the client while nothing else happens: 1 ms is 0.001 core. Memory is resident memory ' +
    'after a garbage collection, where the language has a collector: with a connected client, after 1,000 pairs, and with ' +
    '1,000 leases. The Java machine keeps free heap, so its memory says more about the machine than about a lease.',
  run,
};
