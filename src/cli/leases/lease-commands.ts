import type { Command } from 'commander';
import type { Holdfast } from '../../../clients/typescript';
import {
  SemaphoreServiceService as service,
  type SetSemaphoreLimitResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { connected, type ConnectionFlags, type OutputFlags, outputOf, printing, withClient } from '../client';
import { quoted } from '../output';
import { type Terminal, timeOfDayMs, wholeNumber } from '../terminal';
import { lockKind, required, resourceLines, semaphoreKind, setPaused } from './kinds';
import { addResourceCommands } from './resources';
import { addLockRun, addSemaphoreRun } from './run';

export function addLock(program: Command, terminal: Terminal): void {
  const lock = program
    .command('lock')
    .description('Run a command under a lock; show and end leases of locks.');
  addLockRun(lock, terminal);
  addResourceCommands(lock, lockKind, terminal);
}

export function addSemaphore(program: Command, terminal: Terminal): void {
  const semaphore = program
    .command('semaphore')
    .description('Run a command under permits of a semaphore; set limits; show and end leases.');
  addSemaphoreRun(semaphore, terminal);
  addResourceCommands(semaphore, semaphoreKind, terminal);
  addSetLimit(semaphore, terminal);
  addPause(semaphore, terminal);
  addResume(semaphore, terminal);
  addDelete(semaphore, terminal);
}

function addSetLimit(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('set-limit')
    .summary('create a semaphore, or change its limit')
    .description(
      'Creates a semaphore, or changes its limit. Permits above a lowered limit stay until their holders release them.',
    )
    .argument('<name>', 'name of the semaphore')
    .argument('<limit>', 'largest number of permits in use; 0 pauses the semaphore', wholeNumber(0))
    .option('--expected <limit>', 'change nothing unless this is the present limit', wholeNumber(0));
  connected(printing(command)).action(async (name: string, limit: number, flags: LimitFlags) => {
    await change(terminal, flags, name, (hf) =>
      hf.call(service.setSemaphoreLimit, { name, limit, expectedLimit: flags.expected }),
    );
  });
}

function addPause(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('pause')
    .summary('grant nothing, and keep the limit for "semaphore resume"')
    .description(
      'Pauses a semaphore: every request waits, and holders keep and renew their permits. The store keeps the limit until "semaphore resume" brings it back, or "semaphore set-limit" sets another one.',
    )
    .argument('<name>', 'name of the semaphore')
    .option('--expected <limit>', 'change nothing unless this is the present limit', wholeNumber(1));
  connected(printing(command)).action(async (name: string, flags: LimitFlags) => {
    await change(terminal, flags, name, (hf) => setPaused(hf, name, true, { expectedLimit: flags.expected }));
  });
}

function addResume(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('resume')
    .summary('end the pause of a semaphore')
    .description(
      'Gives a paused semaphore the limit from before "semaphore pause". The requests that wait are granted in the order of the queue.',
    )
    .argument('<name>', 'name of the semaphore');
  connected(printing(command)).action(async (name: string, flags: LimitFlags) => {
    await change(terminal, flags, name, (hf) => setPaused(hf, name, false));
  });
}

type LimitFlags = ConnectionFlags & OutputFlags & { expected?: number };

/** Shows the semaphore after the change. */
async function change(
  terminal: Terminal,
  flags: LimitFlags,
  name: string,
  send: (hf: Holdfast) => Promise<SetSemaphoreLimitResponse>,
): Promise<void> {
  const { semaphore } = await withClient(terminal, flags, send);
  const state = required(semaphore, `semaphore "${name}"`);
  await outputOf(terminal, flags).one(semaphoreKind.toJson(state), () =>
    resourceLines(semaphoreKind, state, terminal, timeOfDayMs()),
  );
}

function addDelete(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('delete')
    .summary('delete a semaphore')
    .description(
      'Deletes a semaphore and its limit. A semaphore with holders or waiters is deleted only with --force.',
    )
    .argument('<name>', 'name of the semaphore')
    .option('--force', 'end the leases of its holders and the waits of its queue');
  connected(command).action(async (name: string, flags: ConnectionFlags & { force?: boolean }) => {
    await withClient(terminal, flags, (hf) =>
      hf.call(service.deleteSemaphore, { name, force: flags.force === true }),
    );
    terminal.err.write(`deleted: semaphore ${quoted(name)}\n`);
  });
}
