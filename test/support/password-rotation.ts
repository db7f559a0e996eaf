import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { credentials, type RedisProcess, SERVER_USER } from './processes/redis-process';
import { scratchFolder } from './scratch-folder';

type Nodes = readonly RedisProcess[];

/** The password that the server's user has at first. */
export const FIRST_PASSWORD = decodeURIComponent(credentials.slice(SERVER_USER.length + 1, -1));
export const NEXT_PASSWORD = 'next: p@ss/wörd';

/** Settings of a server with its password in a file, and the function that writes another password. */
export function passwordFile(url: string) {
  const path = join(scratchFolder(), 'redis-password');
  const write = (password: string): void => writeFileSync(path, `${password}\n`, { mode: 0o600 });
  write(FIRST_PASSWORD);
  const env = {
    HOLDFAST_REDIS_URL: url.replace(credentials, `${SERVER_USER}@`),
    HOLDFAST_REDIS_PASSWORD_FILE: path,
  };
  return { env, write };
}

export async function setUser(nodes: Nodes, ...rules: readonly string[]): Promise<void> {
  for (const node of nodes) await node.command('ACL', 'SETUSER', SERVER_USER, ...rules);
}

/** Ends all connections of servers, also those with subscriptions. */
export async function killConnections(nodes: Nodes): Promise<void> {
  for (const node of nodes) await node.command('CLIENT', 'KILL', 'USER', SERVER_USER);
}

/** How many AUTH the nodes have accepted, so far. */
export async function acceptedCount(nodes: Nodes): Promise<number> {
  const found = await Promise.all(nodes.map((node) => node.command('INFO', 'commandstats')));
  return found
    .map(
      (text) => /cmdstat_auth:calls=(\d+).*?rejected_calls=(\d+),failed_calls=(\d+)/.exec(String(text)) ?? [],
    )
    .reduce(
      (sum, [, calls = 0, rejected = 0, failed = 0]) =>
        sum + Number(calls) - Number(rejected) - Number(failed),
      0,
    );
}

/** The connections of servers to the node, with their subscriptions: `sub` or `ssub` above 0. */
export async function connectionsOf(node: RedisProcess): Promise<{ count: number; subscribed: number }> {
  const lines = String(await node.command('CLIENT', 'LIST'))
    .split('\n')
    .filter((line) => line.includes(` user=${SERVER_USER} `));
  return { count: lines.length, subscribed: lines.filter((line) => / ssub=[1-9]/.test(line)).length };
}
