import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { type ChildExit, ChildSupervisor, type ChildSupervisorOptions } from '../../src/dev/child-supervisor';
import { eventually } from '../support/eventually';
import { isAlive, untilGone } from '../support/processes/child-program';
import { scratchFolder } from '../support/scratch-folder';

const BUILT_SUPERVISOR = resolve(__dirname, '../../dist/src/dev/child-supervisor.js');
/** A child that ignores SIGTERM. The line "ready" shows that the child ignores the signal from now on. */
const STUBBORN = "process.on('SIGTERM', () => {}); console.log('ready'); setInterval(() => {}, 1000)";
const IDLE = 'setInterval(() => {}, 1000)';

/** A field of /proc/<pid>/stat. Index 0 is the first field after the command. */
function statField(pid: number, index: number): string | undefined {
  return readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /, '').split(' ')[index];
}

function options(more: Partial<ChildSupervisorOptions> = {}): ChildSupervisorOptions {
  return { command: process.execPath, args: ['-e', IDLE], env: process.env, graceMs: 300, ...more };
}

/** Starts a parent process that supervises a child and prints the child's process id. */
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
  it('ends the child and removes the `removeAtEnd` folder within 5 s when the parent is killed', async () => {
    const folder = scratchFolder();
    const { parent, child } = await startParent({ removeAtEnd: folder });
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGKILL');
    await untilGone(child, 5_000);
    await eventually('the folder to be removed', () => !existsSync(folder));
  });

  it('ends a child that ignores SIGTERM when the parent is killed', async () => {
    const { parent, child } = await startParent({ args: ['-e', STUBBORN] });
    parent.kill('SIGKILL');
    await untilGone(child, 5_000);
  });

  it('does not end the child while the parent is paused by SIGSTOP', async () => {
    const { parent, child } = await startParent({});
    parent.kill('SIGSTOP');
    await new Promise((done) => setTimeout(done, 1_000));
    expect(isAlive(child)).toBe(true);
    parent.kill('SIGCONT');
    parent.kill('SIGKILL');
    await untilGone(child, 5_000);
  });

  it('starts the child in its own process group and session, which Ctrl-C does not reach', async () => {
    const supervisor = new ChildSupervisor(options());
    const child = await supervisor.start();
    // Fields 2 and 3 are the process group and the session. The terminal sends Ctrl-C only to its foreground group.
    expect(statField(child, 2)).not.toBe(statField(process.pid, 2));
    expect(statField(child, 3)).not.toBe(statField(process.pid, 3));
    await supervisor.end();
  });

  it('ends the child when the lifeline socket closes', async () => {
    const socket = join(scratchFolder(), 'line.sock');
    const server = createServer();
    const connected = once(server, 'connection');
    server.listen(socket);
    const supervisor = new ChildSupervisor(options({ lifeline: socket }));
    const child = await supervisor.start();
    const [line] = (await connected) as [{ destroy(): void }];
    expect(isAlive(child)).toBe(true);
    line.destroy();
    await untilGone(child, 5_000);
    server.close();
  });

  it('kills a child that ignores SIGTERM only after `graceMs`', async () => {
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

  it('reports the end of the output of an ended child, even if the log file cannot be written', async () => {
    const program = "console.log('x'.repeat(20_000)); console.error('the reason'); process.exit(3)";
    for (const logFile of [join(scratchFolder(), 'log'), scratchFolder()]) {
      const exits: ChildExit[] = [];
      const supervisor = new ChildSupervisor(
        options({ args: ['-e', program], logFile, onExit: (exit) => exits.push(exit) }),
      );
      await supervisor.start();
      const [exit] = await eventually('the exit', () => exits.length > 0 && exits);
      expect(exit).toMatchObject({ code: 3, signal: null });
      expect(exit?.lastOutput).toHaveLength(8 * 1024);
      expect(exit?.lastOutput).toContain('the reason');
      await supervisor.end();
    }
  });

  it('starts the child again after it has ended', async () => {
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(options({ onExit: (exit) => exits.push(exit) }));
    const first = await supervisor.start();
    supervisor.signal('SIGKILL');
    await eventually('onExit to be called', () => exits.length === 1);
    expect(supervisor.pid).toBeUndefined();
    const second = await supervisor.start();
    expect(second).not.toBe(first);
    expect(isAlive(second)).toBe(true);
    await supervisor.end();
    expect(isAlive(second)).toBe(false);
  });

  it('kills the child when the supervisor process is killed', async () => {
    const exits: ChildExit[] = [];
    const supervisor = new ChildSupervisor(options({ onExit: (exit) => exits.push(exit) }));
    const child = await supervisor.start();
    process.kill(Number(statField(child, 1)), 'SIGKILL');
    await untilGone(child, 5_000);
    await eventually('onExit to be called', () => exits.length === 1);
    const second = await supervisor.start();
    expect(isAlive(second)).toBe(true);
    await supervisor.end();
  });

  it('rejects with the reason when the program cannot be run', async () => {
    const supervisor = new ChildSupervisor(options({ command: '/no/such/program' }));
    await expect(supervisor.start()).rejects.toThrow(/no\/such\/program.*ENOENT/);
    await supervisor.end();
  });
});
