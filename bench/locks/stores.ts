import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from '../../test/support/eventually';
import { ChildProgram, freePort } from '../../test/support/processes/child-program';
import { makeScratchFolder } from '../../test/support/scratch-folder';
import type { BuiltProgram } from '../../test/support/toolchains';
import { BenchRedis } from '../support/redis';
import { closeStage, openStage, warmUp } from '../support/stage';
import type { Missing } from '../support/yardsticks';
import { etcdProgram, zooKeeperProgram } from './programs';

/** A running server of locks. All data are in memory, and every write is synced before its reply. */
export interface Store {
  readonly address: string;
  /** The processes: the server of locks, and the Redis that keeps the locks. */
  readonly pids: { readonly server: readonly number[]; readonly redis: readonly number[] };
  end(): Promise<void>;
}

type Opened = Store | Missing;

const START_TIMEOUT_MS = 60_000;
/** ZooKeeper ends sessions at the ticks of this time. The default of 2 s forbids sessions of 2 s. */
const ZOOKEEPER_TICK_MS = 500;

async function openHoldfast(): Promise<Store> {
  const stage = await openStage();
  const { server, redis } = stage;
  try {
    await warmUp(stage);
  } catch (error) {
    await closeStage(stage);
    throw error;
  }
  const pids = { server: [server.pid], redis: [redis.pid] };
  return { address: server.listen, pids, end: () => closeStage(stage) };
}

async function openRedis(): Promise<Store> {
  const redis = await BenchRedis.start();
  const pids = { server: [], redis: [redis.pid] };
  return { address: `127.0.0.1:${redis.port}`, pids, end: () => redis.close() };
}

/** All options except addresses, folder and log level have their defaults. */
async function openEtcd(): Promise<Opened> {
  const peer = `http://127.0.0.1:${await freePort()}`;
  return openServer('etcd', await etcdProgram(), (folder, address) => [
    ...['--data-dir', join(folder, 'data'), '--log-level', 'error'],
    ...['--listen-client-urls', `http://${address}`, '--advertise-client-urls', `http://${address}`],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', `default=${peer}`],
  ]);
}

async function openZooKeeper(): Promise<Opened> {
  return openServer('ZooKeeper', await zooKeeperProgram(), (folder, address) => {
    const [clientPortAddress, clientPort] = address.split(':');
    const settings = {
      tickTime: ZOOKEEPER_TICK_MS,
      dataDir: join(folder, 'data'),
      clientPort,
      clientPortAddress,
      maxClientCnxns: 0,
      'admin.enableServer': false,
    };
    const file = join(folder, 'zookeeper.cfg');
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`);
    writeFileSync(file, lines.join(''));
    return [file];
  });
}

/** Starts a server with its data in memory, and waits until its port is open. */
async function openServer(
  label: string,
  program: BuiltProgram,
  argumentsIn: (folder: string, address: string) => readonly string[],
): Promise<Opened> {
  if ('missing' in program) return program;
  const folder = makeScratchFolder(label.toLowerCase(), { inMemory: true });
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const [command, ...before] = program.command;
  const child = new ChildProgram({
    label,
    command,
    args: [...before, ...argumentsIn(folder, address)],
    env: process.env,
    logFile: join(folder, 'log'),
    removeAtEnd: folder,
  });
  await child.start();
  try {
    const timing = { timeoutMs: START_TIMEOUT_MS, everyMs: 100 };
    await eventually(`${label} to listen`, () => listens(port), timing);
  } catch (error) {
    await child.close();
    throw error;
  }
  return { address, pids: { server: [child.pid], redis: [] }, end: () => child.close() };
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } finally {
    socket.destroy();
  }
}

export const stores = {
  holdfast: openHoldfast,
  redis: openRedis,
  etcd: openEtcd,
  zookeeper: openZooKeeper,
} as const satisfies Readonly<Record<string, () => Promise<Opened>>>;

export type StoreName = keyof typeof stores;
