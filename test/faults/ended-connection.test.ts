import { systemClock } from '../../src/base/clock';
import { RedisConnection } from '../../src/redis/connection';
import { script } from '../../src/redis/commands';
import type { Reply } from '../../src/redis/writer';
import { RedisProcess } from '../support/processes/redis-process';

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
