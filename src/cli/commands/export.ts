import type { Command } from 'commander';
import { connected, withClient } from '../command-setup';
import type { ConnectionFlags } from '../settings';
import { Output } from '../output';
import { Progress } from '../progress';
import type { Terminal } from '../terminal';
import { exportPieces } from '../files/write-export';

interface ExportFlags extends ConnectionFlags {
  dictionaries?: string;
  semaphores?: string;
}

/** `holdfast export`: dictionaries and limits of semaphores for `holdfast import`. */
export function addExport(program: Command, terminal: Terminal): void {
  const command = program
    .command('export')
    .summary('write dictionaries and limits of semaphores to stdout')
    .description(
      'Writes dictionaries with their entries, and the limits of semaphores, as JSON lines. ' +
        'Leases, selections and recents are not exported. Without an option, all are exported.',
    )
    .option('--dictionaries <prefix>', 'the dictionaries with this prefix; "" means all')
    .option('--semaphores <prefix>', 'the semaphores with this prefix; "" means all');
  connected(command)
    .addHelpText('after', '\nExample:\n  holdfast export --dictionaries shop/ > shop.jsonl')
    .action(async (flags: ExportFlags) => {
      const wantsAll = flags.dictionaries === undefined && flags.semaphores === undefined;
      const all = wantsAll ? '' : undefined;
      const wish = { dictionaries: flags.dictionaries ?? all, semaphores: flags.semaphores ?? all };
      const output = new Output(terminal, 'jsonl');
      // A bar would be among the lines on the same terminal.
      const progress = terminal.columns === undefined ? new Progress(terminal, undefined) : undefined;
      try {
        await withClient(terminal, flags, async (hf) => {
          const show = (count: number) => progress?.show(0, count);
          for await (const piece of exportPieces(hf, wish, terminal.interrupted, show)) {
            await output.write(piece);
          }
        });
      } finally {
        progress?.end();
      }
    });
}
