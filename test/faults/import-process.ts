import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ChildSupervisor } from '../../src/dev/child-supervisor';
import { lifeline } from '../support/processes/lifeline';

const PROGRAM = join(__dirname, '..', '..', 'dist', 'test', 'faults', 'import-program.js');

/** A client that imports without end, in a process of its own that can be killed. */
export class ImportProcess {
  private readonly output: string[] = [];
  private readonly guard: ChildSupervisor;

  private constructor(address: string, dictionary: string) {
    this.guard = new ChildSupervisor({
      command: process.execPath,
      args: [PROGRAM, address, dictionary],
      env: { PATH: process.env['PATH'] },
      graceMs: 0,
      ...lifeline(),
      onOutput: (...pipes) => {
        for (const input of pipes) createInterface({ input }).on('line', (line) => this.output.push(line));
      },
    });
  }

  static async start(address: string, dictionary: string): Promise<ImportProcess> {
    const client = new ImportProcess(address, dictionary);
    await client.guard.start();
    return client;
  }

  /** SIGKILL. */
  kill(): void {
    if (!this.guard.signal('SIGKILL')) throw new Error(`the import had ended:\n${this.output.join('\n')}`);
  }

  async close(): Promise<void> {
    await this.guard.end();
  }
}
