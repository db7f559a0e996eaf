import { SessionEndCause } from '../../../generated/typescript/holdfast/v1/session_service';
import { lock, SessionStream } from '../../support/clients/session-stream';
import { RedisProcess } from '../../support/processes/redis-process';
import { InProcessServer } from '../in-process-server';

/** What a session tells its client when the store loses its data or does not answer. */

let redis: RedisProcess;
let server: InProcessServer;
let one: SessionStream;

beforeEach(async () => {
  redis = await RedisProcess.start();
  server = await InProcessServer.start(redis.url, {
    HOLDFAST_COMMAND_TIMEOUT: '2s',
  });
  one = new SessionStream(server.address);
});
afterEach(async () => {
  one?.close();
  await server?.closeDespiteWarnings();
  await redis?.close();
});

async function held(ttlMs: number): Promise<number> {
  const number = one.run(lock('hello', { ttlMs }));
  await one.event(number, 'granted');
  return number;
}

test('a lease that the store has deleted ends with STORE_RESET at the next renewal', async () => {
  const number = await held(6000);
  for (const key of (await redis.command('KEYS', '*state:hello')) as string[])
    await redis.command('DEL', key);
  expect((await one.event(number, 'ended')).cause).toBe(SessionEndCause.SESSION_END_CAUSE_STORE_RESET);
});

test('a lease ends with STORE_UNAVAILABLE while Redis is stopped, after a warning', async () => {
  const number = await held(6000);
  await redis.stop();
  try {
    await one.event(number, 'renewalFailed');
    expect((await one.event(number, 'ended')).cause).toBe(
      SessionEndCause.SESSION_END_CAUSE_STORE_UNAVAILABLE,
    );
  } finally {
    await redis.cont();
  }
});
