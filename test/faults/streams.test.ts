import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientDuplexStream, ServiceError } from '@grpc/grpc-js';
import {
  SuggestRequest,
  type SuggestStreamRequest,
  type SuggestStreamResponse,
} from '../../generated/typescript/holdfast/v1/autocomplete_service';
import { systemClock } from '../../src/base/clock';
import { script } from '../../src/redis/script';
import { RedisConnection } from '../../src/redis/connection';
import type { Reply } from '../../src/redis/script';
import { type Ending, endingOf } from '../support/clients/calls';
import { eventually } from '../support/eventually';
import { RedisProcess } from '../support/processes/redis-process';
import { DictionaryClients } from './dictionary-client';
import { Fleet, type Member } from './fleet';
import { CallEnded } from './held';
import { runScenario } from './scenario';
import { towns } from './towns';

describe('suggest stream', () => {
  const DICTIONARY = 'typed into';

  let fleet: Fleet;
  const clients = new DictionaryClients();

  beforeAll(async () => {
    fleet = await Fleet.start({ redis: { appendfsync: 'no' }, members: [{}, { redisProxy: true }, {}] });
    const client = clients.at(fleet.member(0));
    await client.create(DICTIONARY);
    const entries = towns(120, 'large').map((one) => ({ ...one, payload: Buffer.alloc(1024, one.entryId) }));
    await client.put(DICTIONARY, entries);
  });

  afterAll(async () => {
    clients.close();
    await fleet?.close();
  });

  /** A client's SuggestStream. A test sends its queries and controls its reads. */
  class Typing {
    readonly answers: SuggestStreamResponse[] = [];
    readonly ended: Promise<Ending | 'OK'>;
    private readonly call: ClientDuplexStream<SuggestStreamRequest, SuggestStreamResponse>;

    constructor(member: Member) {
      this.call = clients.at(member).stub.suggestStream();
      this.ended = new Promise((resolve) => {
        this.call.on('end', () => resolve('OK'));
        this.call.on('error', (error: ServiceError) => resolve(endingOf(error)));
      });
      this.call.on('data', (answer: SuggestStreamResponse) => this.answers.push(answer));
    }

    ask(queryId: number, query: string, pageSize = 10, maxStalenessSeconds = 0): boolean {
      const maxStaleness = { seconds: BigInt(maxStalenessSeconds), nanos: 0 };
      const suggest = SuggestRequest.create({ dictionary: DICTIONARY, query, pageSize, maxStaleness });
      return this.call.write({ queryId: BigInt(queryId), suggest });
    }

    async answered(queryId: number): Promise<SuggestStreamResponse> {
      return eventually(`an answer to ${queryId}`, () => answerTo(this, queryId));
    }

    stopReading(): void {
      this.call.pause();
    }

    readOn(): void {
      this.call.resume();
    }

    async finish(): Promise<void> {
      this.call.end();
      expect(await this.ended).toBe('OK');
    }
  }

  function answerTo(typing: Typing, queryId: number): SuggestStreamResponse | undefined {
    return typing.answers.find((answer) => answer.queryId === BigInt(queryId));
  }

  /** The resident memory of the server's process. Undefined except on Linux. */
  async function residentBytes(member: Member): Promise<number | undefined> {
    if (process.platform !== 'linux') return undefined;
    const status = await readFile(`/proc/${member.server.pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
  }

  /** The number of reads of a dictionary's version. Queries that arrive at different times read it for themselves. */
  async function headReads(): Promise<number> {
    const stats = (await fleet.redis.command('INFO', 'commandstats')) as string;
    return Number(/^cmdstat_hmget:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
  }

  /**
   * The largest permitted growth of the server's memory (bytes). Stored answers to all queries would need much more,
   * because each answer has a hundred payloads of 1 KiB.
   */
  const MAX_GROWTH = 60 * 1024 * 1024;
  const ROUND = 30;
  const MAX_QUERIES = 1500;

  test('a server looks up and keeps nothing for a client that does not read, and sends the newest answer when the client reads', async () => {
    const member = fleet.member(1);
    const typing = new Typing(member);
    typing.ask(0, 'large', 100);
    await typing.answered(0);
    typing.stopReading();
    const before = await residentBytes(member);
    let asked = 0;
    const lookUps = async (queries: number): Promise<number> => {
      const before = await headReads();
      for (const end = asked + queries; asked < end;) {
        asked += 1;
        typing.ask(asked, 'large town'.slice(0, asked % 10), 100);
        // The server has time to answer each query before the next query.
        await sleep(3);
      }
      return (await headReads()) - before;
    };
    // The answers fill the client's window of some megabytes. The servers' own upkeep reads a few times. On busy cores
    // the server may stand still for one round.
    for (let quiet = 0; quiet < 3;) {
      quiet = (await lookUps(ROUND)) > 2 ? 0 : quiet + 1;
      expect(asked).toBeLessThan(MAX_QUERIES);
    }
    expect(await lookUps(10 * ROUND)).toBeLessThan(ROUND);
    typing.ask(asked + 1, 'large town 7', 100);
    const after = await residentBytes(member);
    if (before !== undefined && after !== undefined) expect(after - before).toBeLessThan(MAX_GROWTH);
    expect(typing.answers).toHaveLength(1);

    typing.readOn();
    const { result } = await typing.answered(asked + 1);
    if (result?.$case !== 'suggestions') throw new Error(`answered ${JSON.stringify(result)}`);
    const texts = result.value.suggestions.map(({ text }) => text);
    expect(texts.slice(0, 2)).toEqual(['large town 7', 'large town 79']);
    const ids = typing.answers.map(({ queryId }) => Number(queryId));
    expect(ids).toEqual([...ids].sort((one, other) => one - other));
    await typing.finish();
  });

  /** The commands that each server sends every second to probe Redis. Each probe reads one epoch with GET. */
  const PROBE_COMMANDS = new Set(['ping', 'info', 'time', 'config|get', 'eval_ro', 'get']);

  /** The number of runs of each Redis command, without the servers' probes. */
  async function commandsAsked(): Promise<Readonly<Record<string, number>>> {
    const stats = (await fleet.redis.command('INFO', 'commandstats')) as string;
    const calls = [...stats.matchAll(/^cmdstat_(.+?):calls=(\d+)/gm)].map(
      ([, name = '', count]) => [name, Number(count)] as const,
    );
    return Object.fromEntries(calls.filter(([name]) => !PROBE_COMMANDS.has(name)));
  }

  test('a hundred idle streams send no command to Redis', async () => {
    const typing = Array.from({ length: 100 }, (_, index) => new Typing(fleet.member(index % 2)));
    for (const one of typing) one.ask(1, 'l');
    await Promise.all(typing.map((one) => one.answered(1)));
    // The servers clean up dictionaries at intervals of several seconds, so some seconds have no clean-up.
    await eventually(
      'a second in which only probes reach Redis',
      async () => {
        const earlier = await commandsAsked();
        await sleep(1000);
        expect(await commandsAsked()).toEqual(earlier);
        return true;
      },
      { timeoutMs: 8000 },
    );
    await Promise.all(typing.map((one) => one.finish()));
  });

  test('a stream goes on through an outage of Redis, with suggestions for queries that allow staleness', async () => {
    const { redisProxy } = fleet.member(1);
    const typing = new Typing(fleet.member(1));
    typing.ask(1, 'large town 7');
    const { result: fresh } = await typing.answered(1);
    redisProxy.blackHole('both');
    typing.ask(2, 'large town 7', 10, 3600);
    expect((await typing.answered(2)).result).toEqual(fresh);
    typing.ask(3, 'large town 7');
    const { result: failed } = await eventually('an answer without staleness', () => answerTo(typing, 3), {
      timeoutMs: 60_000,
    });
    expect(failed).toMatchObject({ $case: 'error' });
    typing.ask(4, 'large town 7', 10, 3600);
    expect((await typing.answered(4)).result).toEqual(fresh);
    redisProxy.passEverything();
    redisProxy.cutAll();
    let queryId = 5;
    await eventually('an answer with the latest entries', async () => {
      typing.ask(queryId, 'large town 7');
      const { result } = await typing.answered(queryId);
      queryId += 1;
      return result?.$case === 'suggestions';
    });
    await typing.finish();
  });

  test('a draining server ends its streams with DRAINING, and another server answers the last query', async () => {
    const leaving = fleet.member(2);
    const typing = [new Typing(leaving), new Typing(leaving)];
    for (const one of typing) one.ask(1, 'large town 7');
    await Promise.all(typing.map((one) => one.answered(1)));
    expect(await leaving.server.term()).toEqual({ code: 0, signal: null });
    for (const one of typing) {
      expect(await one.ended).toMatchObject({ code: 'UNAVAILABLE', reason: 'DRAINING' });
    }
    const elsewhere = new Typing(fleet.member(0));
    elsewhere.ask(1, 'large town 7');
    expect((await elsewhere.answered(1)).result).toEqual(typing[0]?.answers[0]?.result);
    await elsewhere.finish();
  });
});

describe('stream age', () => {
  const AGE_MS = 1000;
  const REATTACH = { code: 'UNAVAILABLE', reason: 'REATTACH' };

  let fleet: Fleet;

  beforeAll(async () => {
    const aging = { env: { HOLDFAST_STREAM_MAX_AGE: `${AGE_MS}ms` } };
    fleet = await Fleet.start({ members: [aging, aging] });
  });

  afterAll(() => fleet?.close());

  test.concurrent(
    'a holding stream at its maximum age is renewed once more and ends with REATTACH, and the next stream has the same lease',
    () =>
      runScenario({ fleet, title: 'holding' }, async (scenario) => {
        const name = scenario.lock('lock');
        const client = scenario.client('client', fleet.member(0));
        let stream = client.hold({ name, ttlMs: 12_000 });
        const held = await stream.granted();
        scenario.observer.watchLease(held);
        for (let round = 1; round <= 2; round += 1) {
          const stopwatch = scenario.stopwatch();
          const ending = await stream.ended;
          expect(ending).toMatchObject(REATTACH);
          expect(ending.pushback).toMatch(/^\d+$/);
          expect(stopwatch.chargedMs).toBeLessThan(AGE_MS + 750);
          // The regular renewal is not due yet, so this renewal is the last renewal before the end of the stream.
          expect(stream.kinds).toEqual(['granted', 'renewed']);
          const { deadline } = stream;
          client.moveTo(fleet.member(round % 2).address);
          stream = client.attach(held);
          const again = await stream.granted();
          expect(again.token).toBe(held.token);
          expect(again.deadline).toBeGreaterThan(deadline);
        }
        await client.release(held);
        expect((await stream.ended).code).toBe('OK');
      }),
  );

  test.concurrent(
    'a waiting stream at its maximum age ends with REATTACH, and its request_id keeps the place',
    () =>
      runScenario({ fleet, title: 'waiting' }, async (scenario) => {
        const name = scenario.lock('lock');
        const holder = scenario.client('holder', fleet.member(0));
        const first = await holder.acquire({ name, ttlMs: 20_000 });
        const client = scenario.client('client', fleet.member(0));
        const request = { name, ttlMs: 3000, requestId: randomUUID() };
        const aging = client.hold(request);
        expect(await aging.queued()).toBe(1);
        const stopwatch = scenario.stopwatch();
        const behind = scenario.client('behind', fleet.member(1));
        const patient = { name, ttlMs: 3000, requestId: randomUUID() };
        const behindAging = behind.hold(patient);
        expect(await behindAging.queued()).toBe(2);

        expect(await aging.ended).toMatchObject(REATTACH);
        expect(stopwatch.elapsedMs).toBeGreaterThan(AGE_MS * 0.9 - 100);
        expect(stopwatch.chargedMs).toBeLessThan(AGE_MS + 750);
        expect(aging.held).toBeUndefined();
        client.moveTo(fleet.member(1).address);
        const again = client.hold(request);
        expect(await again.queued()).toBe(1);
        expect(await behindAging.ended).toMatchObject(REATTACH);
        const behindAgain = behind.hold(patient);
        expect(await behindAgain.queued()).toBe(2);
        await holder.release(first);
        await client.release(await again.granted());
        await behind.release(await behindAgain.granted());
      }),
  );

  test.concurrent('a unary wait without a deadline ends with CONTENDED at the maximum age', () =>
    runScenario({ fleet, title: 'unary' }, async (scenario) => {
      const name = scenario.lock('lock');
      const holder = scenario.client('holder', fleet.member(0));
      const first = await holder.acquire({ name, ttlMs: 20_000 });
      const stopwatch = scenario.stopwatch();
      const refused: unknown = await scenario
        .client('client', fleet.member(1))
        .acquire({ name, ttlMs: 3000 })
        .catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(CallEnded);
      expect((refused as CallEnded).ending).toMatchObject({ code: 'ABORTED', reason: 'CONTENDED' });
      expect(stopwatch.elapsedMs).toBeGreaterThan(AGE_MS * 0.9 - 100);
      expect(stopwatch.chargedMs).toBeLessThan(AGE_MS + 750);
      await holder.release(first);
    }),
  );
});

describe('ended connection', () => {
  /** Returns the reply of a script unchanged, with the time at which the script was sent. */
  const whole = (reply: Reply[], sentAt: number) => ({ reply, sentAt });

  /** The bound of sends. Endless sends keep the process busy, and then the test cannot time out. */
  const MAX_ATTEMPTS = 200;

  test('a command on a connection that has just ended waits for the next connection and does not block the process', async () => {
    const redis = await RedisProcess.start();
    const options = {
      endpoint: redis.url,
      commandTimeoutMs: 2000,
      clock: systemClock,
      onError: () => undefined,
    };
    const connection = new RedisConnection(options);
    try {
      await connection.ready(5000);
      const { client } = connection;
      const send = client.sendCommand.bind(client);
      let tries = 0;
      client.sendCommand = (...args) => {
        tries += 1;
        if (tries > MAX_ATTEMPTS) throw Object.assign(new Error(`${tries} tries`), { name: 'ReplyError' });
        return send(...args);
      };
      // Until the socket's event 'close', the status in ioredis is 'ready', but ioredis writes nothing to the socket.
      client.stream.destroy();
      expect(client.status).toBe('ready');
      const { reply } = await connection.commands.send({
        run: script("return {'done'}"),
        keys: [],
        args: [],
        read: whole,
      });
      expect(reply).toEqual(['done']);
      expect(tries).toBeLessThan(20);
    } finally {
      connection.close();
      await redis.close();
    }
  });
});
