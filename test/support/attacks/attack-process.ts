import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ChildProgram, inheritedEnvironment } from '../processes/child-program';
import { ROOT } from '../root';
import type { AttackReport, AttackTarget } from './attack';

const PROGRAM = join(ROOT, 'dist', 'test', 'support', 'attacks', 'attack-program.js');
const END_TIMEOUT_MS = 60_000;

/** An attack in a process of its own, of lower priority than the server and its other clients. */
export class AttackProcess {
  private constructor(
    private readonly child: ChildProgram,
    private readonly forMs: number,
  ) {}

  static async start(name: string, target: AttackTarget): Promise<AttackProcess> {
    if (!existsSync(PROGRAM)) throw new Error(`${PROGRAM} is missing: run "npm run build"`);
    const child = new ChildProgram({
      label: `the attack ${name}`,
      args: [PROGRAM, name, JSON.stringify(target)],
      env: inheritedEnvironment(),
    });
    await child.start();
    return new AttackProcess(child, target.forMs);
  }

  get pid(): number {
    return this.child.pid;
  }

  /** The report after the end of the attack. */
  async report(): Promise<AttackReport> {
    const { code, signal } = await this.child.ended(this.forMs + END_TIMEOUT_MS);
    if (code !== 0)
      throw new Error(`the attack ended with ${signal ?? code}:\n${this.child.output.join('\n')}`);
    return JSON.parse(this.child.output.at(-1) ?? '') as AttackReport;
  }

  async close(): Promise<void> {
    await this.child.close();
  }
}
