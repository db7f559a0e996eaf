import type { Command } from 'commander';
import type { Terminal } from '../terminal';
import { lockKind } from './lock-kind';
import { addLockRun } from './run';
import { addResourceCommands } from './resources';

export function addLock(program: Command, terminal: Terminal): void {
  const lock = program
    .command('lock')
    .description('Run a command under a lock; show and end leases of locks.');
  addLockRun(lock, terminal);
  addResourceCommands(lock, lockKind, terminal);
}
