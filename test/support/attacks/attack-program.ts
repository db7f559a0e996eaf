/**
 * Runs one attack, and prints its report as JSON.
 *
 *     node attack-program.js NAME '{"address": …, "label": …, "forMs": …, "scale": …}'
 */
import { writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { attacks, openFloods } from './attacks';
import { runAttack, type AttackTarget } from './attack';

/**
 * Added to the niceness of this process. An attacker on the server's own machine must not win by taking the server's
 * processor.
 */
const NICENESS = 10;
const MOST_NICENESS = 19;

function lowerPriority(): void {
  const niceness = Math.min(getPriority() + NICENESS, MOST_NICENESS);
  setPriority(niceness);
  try {
    // This process leads a session of its own, and Linux may share the processor between sessions first.
    writeFileSync('/proc/self/autogroup', String(niceness));
  } catch {
    // Another system, or a Linux without these groups.
  }
}

async function main(): Promise<void> {
  const [name, target = ''] = process.argv.slice(2);
  const attack = [...attacks, ...openFloods].find((one) => one.name === name);
  if (attack === undefined) throw new Error(`no such attack: ${name}`);
  lowerPriority();
  const report = await runAttack(attack, JSON.parse(target) as AttackTarget);
  console.log(JSON.stringify(report));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
