import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { askRedis, isListening } from './redis-probe';

const PROBE_TIMEOUT_MS = 1_000;
/** The time in which Redis must stop after SHUTDOWN. Redis first writes its data. */
const SHUTDOWN_TIMEOUT_MS = 5_000;
const POLL_MS = 20;

/**
 * Returns true if no Redis ever ran in this folder. Returns false for a folder with a log but without data, because a
 * user has removed the data of an earlier Redis.
 */
export async function isNeverUsed(folder: string, logName: string): Promise<boolean> {
  const [names, data] = await Promise.all([readdir(folder), readdir(join(folder, 'redis'))]);
  return data.length === 0 && !names.includes(logName);
}

/**
 * Ends a Redis of an earlier `npm start`. Such a Redis still runs if its parent and its supervisor were both killed.
 * Two Redis processes with the same data folder would destroy the data.
 */
export async function endLeftover(socket: string, note: (text: string) => void): Promise<void> {
  if (await isListening(socket)) {
    const info = await askRedis(socket, 'INFO server', PROBE_TIMEOUT_MS).catch(() => '');
    const pid = /^process_id:(\d+)/m.exec(info)?.[1] ?? 'unknown';
    const leftover = `a Redis of an earlier start (pid ${pid})`;
    note(`${leftover} is still running: stopping it`);
    // Redis answers SHUTDOWN by closing the connection, which askRedis reports as an error.
    await askRedis(socket, 'SHUTDOWN', SHUTDOWN_TIMEOUT_MS).catch(() => undefined);
    const deadline = performance.now() + SHUTDOWN_TIMEOUT_MS;
    while (await isListening(socket)) {
      if (performance.now() > deadline) {
        throw new Error(`${leftover} holds ${socket} and does not stop: kill the process, then start again`);
      }
      await sleep(POLL_MS);
    }
  }
  await rm(socket, { force: true });
}
