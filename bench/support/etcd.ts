import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ChildSupervisor } from '../../src/dev/child-supervisor';
import { runCommand } from '../../src/dev/run-command';
import { freePort } from './free-port';
import { scratchFolder } from './scratch';

const START_TIMEOUT_MS = 20_000;
const VERSION_TIMEOUT_MS = 10_000;

export interface EtcdProgram {
  readonly command: string;
  /** "etcd 3.4.23". */
  readonly version: string;
}

/** HOLDFAST_BENCH_ETCD, else the etcd on the PATH; or why there is none. */
export async function findEtcd(): Promise<EtcdProgram | { readonly missing: string }> {
  const command = process.env['HOLDFAST_BENCH_ETCD'] || 'etcd';
  const { code, stdout, stderr } = await runCommand(command, ['--version'], {
    timeoutMs: VERSION_TIMEOUT_MS,
  });
  const version = /^etcd Version: (\S+)/m.exec(stdout)?.[1];
  if (code === 0 && version !== undefined) return { command, version: `etcd ${version}` };
  return {
    missing:
      `${command} does not run (${stderr.trim() || `exit code ${code}`}): install it (Debian: etcd-server) ` +
      'or set HOLDFAST_BENCH_ETCD to its path',
  };
}

/** One etcd with its data in memory, as it comes: no option but where to listen and where to write. */
export class BenchEtcd {
  private constructor(
    private readonly guard: ChildSupervisor,
    readonly address: string,
  ) {}

  /** `answers` is asked until it says yes. */
  static async start({ command }: EtcdProgram, answers: (address: string) => Promise<boolean>) {
    const folder = await scratchFolder('etcd');
    const address = `127.0.0.1:${await freePort()}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    const guard = new ChildSupervisor({
      command,
      args: [
        ...['--data-dir', join(folder, 'data'), '--log-level', 'error'],
        ...['--listen-client-urls', `http://${address}`, '--advertise-client-urls', `http://${address}`],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', `default=${peer}`],
      ],
      env: process.env,
      logFile: join(folder, 'etcd.log'),
      graceMs: 0,
      removeAtEnd: folder,
    });
    await guard.start();
    const etcd = new BenchEtcd(guard, address);
    for (const until = performance.now() + START_TIMEOUT_MS; !(await answers(address)); await sleep(100)) {
      if (performance.now() < until) continue;
      await etcd.close();
      throw new Error('etcd does not answer');
    }
    return etcd;
  }

  get pid(): number {
    if (this.guard.pid === undefined) throw new Error('etcd has ended');
    return this.guard.pid;
  }

  async close(): Promise<void> {
    await this.guard.end();
  }
}
