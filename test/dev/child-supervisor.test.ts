import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { ChildSupervisor, type ChildExit, type ChildSupervisorOptions } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import { scratchFolder } from '../support/scratch-folder';

const BUILT_SUPERVISOR = resolve(__dirname, '../../dist/src/dev/child-supervisor.js');
/** A child that takes no notice of SIGTERM, and says when it is ready not to. */
const STUBBORN = "process.on('SIGTERM', () => {}); console.log('ready'); setInterval(() => {}, 1000)";
const PATIENT = 'setInterval(() => {}, 1000)';

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function gone(pid: number, timeoutMs = 5_000): Promise<true> {
  return eventually(`process ${pid} to be gone`, () => !isAlive(pid), { timeoutMs });
}

/** A field of /proc/<pid>/stat, counted from the one behind the command. */
function statField(pid: number, index: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')[index];
}

function options(more: Partial<ChildSupervisorOptions> = {}): ChildSupervisorOptions {
  return { command: process.execPath, args: ['-e', PATIENT], env: process.env, graceMs: 300, ...more };
}

/** A parent of its own process, which supervises a child and prints that child's process id. */
async function startParent(
  more: Partial<ChildSupervisorOptions>,
): Promise<{ parent: ChildProcess; child: number }> {
  const program = `
    const { ChildSupervisor } = require(${JSON.stringify(BUILT_SUPERVISOR)});
    new ChildSupervisor(${JSON.stringify(options(more))}).start().then((pid) => console.log(pid));
    setInterval(() => {}, 1000);
  `;
  const parent = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  return { parent, child: Number(line.toString()) };
}

describe('ChildSupervisor', () => {
  it('ends its child within seconds when its parent is killed, and removes the folder it was given', async () => {
    const folder = scratchFolder();
    const { parent, child } = await startParent({ removeAtEnd: folder });
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGKILL');
    await gone(child);
    await eventually('the folder to be gone', () => !existsSync(folder));
  });

  it('ends a child that ignores SIGTERM too when its parent is killed', async () => {
    const { parent, child } = await startParent({ args: ['-e', STUBBORN] });
    parent.kill('SIGKILL');
    await gone(child);
  });

  it('leaves its child alone while its parent is merely stopped', async () => {
    const { parent, child } = await startParent({});
    parent.kill('SIGSTOP');
    await new Promise((done) => setTimeout(done, 1_000));
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGCONT');
    parent.kill('SIGKILL');
    await gone(child);
  });

  it('keeps its child out of the reach of the terminal that its parent runs in', async () => {
    const supervisor = new ChildSupervisor(options());
    const child = await supervisor.start();
    // Process group and session: a Ctrl-C goes to the terminal's foreground group.
    expect(statField(child, 2)).not.toBe(statField(process.pid, 2));
    expect(statField(child, 3)).not.toBe(statField(process.pid, 3));
    await supervisor.end();
  });

  it('ends its child when the lifeline closes', async () => {
    const socket = join(scratchFolder(), 'line.sock');
    const server = createServer();
    const connected = once(server, 'connection');
    server.listen(socket);
    const supervisor = new ChildSupervisor(options({ lifeline: socket }));
    const child = await supervisor.start();
    const [line] = (await connected) as [{ destroy(): void }];
    expect(isAlive(child)).toBe(true);
    line.destroy();
    await gone(child);
    server.close();
  });

  it('gives the child time to end by itself, and kills it after that', async () => {
    const output: string[] = [];
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(
      options({
        args: ['-e', STUBBORN],
        onExit: (exit) => exits.push(exit),
        onOutput: (stdout) => stdout.on('data', (chunk: Buffer) => output.push(chunk.toString())),
      }),
    );
    await supervisor.start();
    await eventually('the child to be ready', () => output.join('').includes('ready'));
    const started = performance.now();
    await supervisor.end();
    expect(performance.now() - started).toBeGreaterThanOrEqual(290);
    expect(exits).toEqual([{ code: null, signal: 'SIGKILL' }]);
  });

  it('starts the child again after it has ended', async () => {
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(options({ onExit: (exit) => exits.push(exit) }));
    const first = await supervisor.start();
    supervisor.signal('SIGKILL');
    await eventually('the news of the end', () => exits.length === 1);
    expect(supervisor.pid).toBeUndefined();
    const second = await supervisor.start();
    expect(second).not.toBe(first);
    expect(isAlive(second)).toBe(true);
    await supervisor.end();
    expect(isAlive(second)).toBe(false);
  });

  it('leaves no child unguarded when the guard itself is killed', async () => {
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(options({ onExit: (exit) => exits.push(exit) }));
    const child = await supervisor.start();
    process.kill(Number(statField(child, 1)), 'SIGKILL');
    await gone(child);
    await eventually('the news of the end', () => exits.length === 1);
    const second = await supervisor.start();
    expect(isAlive(second)).toBe(true);
    await supervisor.end();
  });

  it('says why a program cannot be run', async () => {
    const supervisor = new ChildSupervisor(options({ command: '/no/such/program' }));
    await expect(supervisor.start()).rejects.toThrow(/no\/such\/program.*ENOENT/);
    await supervisor.end();
  });
});
