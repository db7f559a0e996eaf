import type { Redis } from 'ioredis';
import { systemClock } from '../../src/engine/clock';
import { RedisConnection } from '../../src/redis/connection/connection';
import { script } from '../../src/redis/connection/operation';
import type { Reply } from '../../src/redis/connection/script-command';
import { RedisProcess } from '../support/processes/redis-process';

/** Everything that a script answered. */
const whole = (reply: Reply[], sentAt: number) => ({ reply, sentAt });

/** More tries than a second of pauses has room for; an endless run of them would never let the test time out. */
const TOO_MANY = 200;

test('a command that finds its connection just ended waits for the next one, and lets others run', async () => {
  const redis = await RedisProcess.start();
  const options = { url: redis.url, commandTimeoutMs: 2000, clock: systemClock, onError: () => undefined };
  const connection = new RedisConnection(options);
  try {
    await connection.ready(5000);
    const client = Reflect.get(connection, 'client') as Redis;
    const send = client.sendCommand.bind(client);
    let tries = 0;
    client.sendCommand = (...args) => {
      tries += 1;
      if (tries > TOO_MANY) throw Object.assign(new Error(`${tries} tries`), { name: 'ReplyError' });
      return send(...args);
    };
    // Between this and its 'close' the library calls the connection ready, and writes nothing to it.
    client.stream.destroy();
    expect(client.status).toBe('ready');
    const { reply } = await connection.run(script("return {'done'}"), [], [], whole);
    expect(reply).toEqual(['done']);
    expect(tries).toBeLessThan(20);
  } finally {
    connection.close();
    await redis.close();
  }
});
