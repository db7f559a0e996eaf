import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../support/toolchains';
import { TcpProxy } from '../support/proxy/tcp-proxy';
import type { ExampleProcess } from './example-process';
import type { Stage } from './stage';

const TTL_MS = 4000;
const STEP_MS = 1000;
const STOP_MS = 8000;

/** Step 7 is more than a ttl after step 2, so the lease was renewed after the kill. */
const SHOWN = /^(granted|queued|released|lease lost|ledger refused|failed|step [2357] )/;

/** The lines of one scene, with the seconds since the start of its worker. */
class FailureScene {
  private readonly startedAt = performance.now();
  private readonly workers: { readonly prefix: string; readonly process: ExampleProcess }[] = [];
  private readonly events: { readonly at: number; readonly text: string }[] = [];

  constructor(
    private readonly stage: Stage,
    private readonly program: Program,
  ) {
    stage.reset();
  }

  async worker(servers: string, prefix = ''): Promise<ExampleProcess> {
    const { name, ledger } = this.stage;
    const args = [name, '--servers', servers, '--ledger', ledger.url];
    const times = ['--ttl-ms', String(TTL_MS), '--step-ms', String(STEP_MS)];
    const process = await this.stage.start(this.program, [...args, ...times]);
    this.workers.push({ prefix, process });
    return process;
  }

  /** Adds a line about what is done to the worker now. */
  event(text: string): void {
    this.events.push({ at: performance.now(), text: `(${text})` });
  }

  lines(): string[] {
    const printed = this.workers.flatMap(({ prefix, process }) =>
      process.lines
        .filter(({ text }) => SHOWN.test(text))
        .map(({ text, at }) => ({ at, text: prefix + text })),
    );
    return [...printed, ...this.events]
      .sort((one, other) => one.at - other.at)
      .map(({ at, text }) => `${((at - this.startedAt) / 1000).toFixed(1).padStart(4)} s  ${text}`);
  }
}

async function serverKilled(stage: Stage, program: Program): Promise<string[]> {
  const server = await stage.extraServer();
  const scene = new FailureScene(stage, program);
  const worker = await scene.worker(`${server.listen},${stage.addresses}`);
  await worker.line(/^step 2 /);
  scene.event('kill -9 of the server');
  await server.kill();
  await worker.line(/^step 7 /);
  scene.event('Ctrl-C');
  worker.signal('SIGINT');
  await worker.exit();
  return scene.lines();
}

async function workerStopped(stage: Stage, program: Program): Promise<string[]> {
  const scene = new FailureScene(stage, program);
  const worker = await scene.worker(stage.addresses);
  await worker.line(/^step 2 /);
  const other = await scene.worker(stage.addresses, 'another worker: ');
  await other.line(/^queued/);
  scene.event('SIGSTOP');
  worker.signal('SIGSTOP');
  await sleep(STOP_MS);
  scene.event('SIGCONT');
  worker.signal('SIGCONT');
  await worker.exit();
  return scene.lines();
}

async function blackHole(stage: Stage, program: Program): Promise<string[]> {
  const targetPort = Number(stage.servers[0]?.listen.split(':').at(-1));
  const proxy = await TcpProxy.open({ targetPort, protocol: 'tcp' });
  try {
    const scene = new FailureScene(stage, program);
    const worker = await scene.worker(proxy.address);
    await worker.line(/^step 2 /);
    scene.event('from now on all bytes are lost');
    proxy.blackHole('both');
    await worker.exit();
    return scene.lines();
  } finally {
    await proxy.close();
  }
}

/** The lines of "What a failure looks like" in the README of a client. */
export async function failureLines(stage: Stage, program: Program): Promise<string[]> {
  const lines: string[] = [];
  for (const [title, play] of [
    ['its server is killed; the worker knows a second address:', serverKilled],
    ['the worker is stopped for 8 s; another worker waits:', workerStopped],
    ['the network loses all bytes; the worker knows one address:', blackHole],
  ] as const) {
    lines.push(title, ...(await play(stage, program)));
    await stage.clear();
  }
  return lines;
}
