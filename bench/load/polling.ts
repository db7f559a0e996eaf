/** Many clients that repeatedly acquire, hold and release one lock directly on Redis, as in the chapter. */
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { COMPARE_AND_DELETE } from '../chapter/set-nx-px-lock';
import { serveTasks } from './serve-tasks';

const TTL_MS = 30_000;
const POLL_MS = 1;

let grants = 0;
let stopping = false;
let contestants: Promise<void>[] = [];

/**
 * A minimal Redis client for polling. Each client has a connection, and sends a single command at a time. A library would
 * add its own cost to the measurement.
 */
class RespClient {
  private readonly socket: Socket;
  private answer: { resolve: (reply: string) => void; reject: (error: Error) => void } | undefined;
  private received = '';

  private constructor(port: number) {
    this.socket = connect(port, '127.0.0.1').setNoDelay().setEncoding('latin1');
    this.socket.on('data', (text: string) => this.receive(text));
    this.socket.on('error', (error) => this.answer?.reject(error));
  }

  static async connect(port: number): Promise<RespClient> {
    const client = new RespClient(port);
    if ((await client.command('PING')) !== '+PONG') throw new Error(`no Redis answers on port ${port}`);
    return client;
  }

  /** Resolves to a reply of a single line, such as "+OK", ":1" or "$-1" (nil). */
  command(...words: string[]): Promise<string> {
    const parts = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    this.socket.write(`*${words.length}\r\n${parts.join('')}`);
    return new Promise((resolve, reject) => (this.answer = { resolve, reject }));
  }

  close(): void {
    this.socket.destroy();
  }

  private receive(text: string): void {
    this.received += text;
    if (!this.received.endsWith('\r\n')) return;
    const reply = this.received.slice(0, -2);
    this.received = '';
    if (reply.startsWith('-')) this.answer?.reject(new Error(reply));
    else this.answer?.resolve(reply);
  }
}

async function poll(client: RespClient, name: string, holdMs: number): Promise<void> {
  while (!stopping) {
    const identifier = randomUUID();
    while ((await client.command('SET', name, identifier, 'NX', 'PX', String(TTL_MS))) !== '+OK') {
      if (stopping) return;
      await sleep(POLL_MS);
    }
    if (!stopping) await sleep(holdMs);
    const deleted = await client.command('EVAL', COMPARE_AND_DELETE, '1', name, identifier);
    if (deleted !== ':1') throw new Error('a lock was lost: the machine is too busy for this benchmark');
    grants += 1;
  }
}

const tasks = {
  /** Starts the clients, each with its own connection. */
  start: async (contest: { port: number; name: string; clients: number; holdMs: number }) => {
    stopping = false;
    const clients: RespClient[] = [];
    while (clients.length < contest.clients) clients.push(await RespClient.connect(contest.port));
    contestants = clients.map((client) => poll(client, contest.name, contest.holdMs));
    void Promise.all(contestants).then(() => clients.forEach((client) => client.close()));
  },
  grants: () => Promise.resolve(grants),
  stop: async () => {
    stopping = true;
    await Promise.all(contestants);
  },
};

export type PollingTasks = typeof tasks;

serveTasks(tasks);
