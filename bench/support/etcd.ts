import { join } from 'node:path';
import { runCommand } from '../../src/dev/run-command';
import { eventually } from '../../test/support/eventually';
import { ChildProgram } from '../../test/support/processes/child-program';
import { freePort } from '../../test/support/processes/free-port';
import { makeScratchFolder } from '../../test/support/processes/scratch-folder';

const START_TIMEOUT_MS = 60_000;
const VERSION_TIMEOUT_MS = 10_000;

export interface EtcdProgram {
  readonly command: string;
  /** The name and the version, such as "etcd 3.4.23". */
  readonly version: string;
}

/** Finds the program of HOLDFAST_BENCH_ETCD or the etcd on the PATH. Resolves to the reason if there is none. */
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

/** An etcd with its data in memory. All options except addresses, folder and log level have their defaults. */
export class BenchEtcd {
  private constructor(
    private readonly child: ChildProgram,
    readonly address: string,
  ) {}

  /** Starts etcd, and waits until `answers` resolves to true. */
  static async start({ command }: EtcdProgram, answers: (address: string) => Promise<boolean>) {
    const folder = makeScratchFolder('etcd', { inMemory: true });
    const address = `127.0.0.1:${await freePort()}`;
    const peer = `http://127.0.0.1:${await freePort()}`;
    const child = new ChildProgram({
      label: 'etcd',
      command,
      args: [
        ...['--data-dir', join(folder, 'data'), '--log-level', 'error'],
        ...['--listen-client-urls', `http://${address}`, '--advertise-client-urls', `http://${address}`],
        ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
        ...['--initial-cluster', `default=${peer}`],
      ],
      env: process.env,
      logFile: join(folder, 'etcd.log'),
      removeAtEnd: folder,
    });
    await child.start();
    try {
      await eventually('etcd to answer', () => answers(address), {
        timeoutMs: START_TIMEOUT_MS,
        everyMs: 100,
      });
    } catch (error) {
      await child.close();
      throw error;
    }
    return new BenchEtcd(child, address);
  }

  get pid(): number {
    return this.child.pid;
  }

  async close(): Promise<void> {
    await this.child.close();
  }
}
