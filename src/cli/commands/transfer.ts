import { statSync } from 'node:fs';
import type { Command } from 'commander';
import type { Entry, Holdfast } from '../../../clients/typescript';
import { SemaphoreServiceService as service } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import { entryCount } from '../autocomplete/entries';
import { connected, type ConnectionFlags, withClient } from '../client';
import { type Counts, countsText, type ExportPart, exportPieces } from '../files/export';
import { readExport } from '../files/import';
import { fileBytes, unreadable } from '../files/records';
import { requirePause, setPaused } from '../leases/kinds';
import { Output, Progress, quoted } from '../output';
import { CliError, type Terminal, UsageError } from '../terminal';

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

/** `holdfast import`: takes back a file of `holdfast export`. */
export function addImport(program: Command, terminal: Terminal): void {
  const command = program
    .command('import')
    .summary('take back a file of "holdfast export"')
    .description(
      'Checks the whole file. Then sets the limits of its semaphores, and replaces its dictionaries one by one, each in one step. ' +
        'Other semaphores and dictionaries stay.',
    )
    .argument('<file>', 'file of "holdfast export"')
    .option('--dry-run', 'check the file, change nothing, and connect to no server');
  connected(command).action(async (file: string, flags: ConnectionFlags & { dryRun?: boolean }) => {
    refuseUnrepeatable(file);
    const counts = await checked(terminal, file);
    if (flags.dryRun) {
      terminal.err.write(`valid: ${countsText(counts)}\n`);
      return;
    }
    await withClient(terminal, flags, (hf) => new Importer(terminal, hf, counts).run(file));
    terminal.err.write(`done: ${countsText(counts)}\n`);
  });
}

/** The file is read twice: for the check, and for the import. */
function refuseUnrepeatable(file: string): void {
  if (file === '-')
    throw new UsageError('the file is read twice, so stdin is no file here: save the export in a file first');
  let isFile;
  try {
    isFile = statSync(file).isFile();
  } catch (error) {
    throw unreadable(file, error);
  }
  if (!isFile) throw new UsageError(`${file} is no regular file: save the export in a file first`);
}

async function checked(terminal: Terminal, file: string): Promise<Counts> {
  const parts = readExport(fileBytes(file), file);
  for (;;) {
    terminal.interrupted.throwIfAborted();
    const next = await parts.next();
    if (next.done) return next.value;
  }
}

class Importer {
  private readonly progress: Progress;
  private count = 0;

  constructor(
    private readonly terminal: Terminal,
    private readonly hf: Holdfast,
    { entryCount }: Counts,
  ) {
    this.progress = new Progress(terminal, entryCount);
  }

  async run(file: string): Promise<void> {
    const parts = readExport(fileBytes(file), file);
    const { interrupted: signal } = this.terminal;
    try {
      for (;;) {
        const next = await parts.next();
        if (next.done) return;
        signal.throwIfAborted();
        if (next.value.kind === 'semaphore') await this.semaphore(next.value);
        else if (next.value.kind === 'dictionary') await this.dictionary(next.value, parts);
      }
    } finally {
      this.progress.end();
      await parts.return({ semaphoreCount: 0, dictionaryCount: 0, entryCount: 0 });
    }
  }

  private async semaphore({ name, ...part }: ExportPart & { kind: 'semaphore' }): Promise<void> {
    const { interrupted: signal } = this.terminal;
    const isPaused = part.keptLimit > 0;
    if (isPaused) await requirePause(this.hf); // else the semaphore would be left without its pause
    const limit = isPaused ? part.keptLimit : part.limit;
    const request = { name, limit, expectedLimit: undefined };
    await this.hf.call(service.setSemaphoreLimit, request, { signal });
    if (isPaused) await setPaused(this.hf, name, true, { signal });
    this.terminal.err.write(`limit ${limit}${isPaused ? ', paused' : ''}: semaphore ${quoted(name)}\n`);
  }

  private async dictionary(
    { name, profile }: ExportPart & { kind: 'dictionary' },
    parts: AsyncGenerator<ExportPart>,
  ): Promise<void> {
    const { interrupted: signal } = this.terminal;
    const info = await this.hf.dictionary(name).import(this.entries(parts), { profile, signal });
    this.progress.end();
    this.terminal.err.write(`imported: ${entryCount(info.entryCount)} into ${quoted(name)}\n`);
  }

  /** The entries up to the end of the open dictionary. Leaves `parts` open for the next dictionary. */
  private async *entries(parts: AsyncGenerator<ExportPart>): AsyncGenerator<Entry, void, undefined> {
    for (;;) {
      const next = await parts.next();
      if (next.done) throw new CliError('the file was changed during the import');
      if (next.value.kind !== 'entry') return;
      this.progress.show((this.count += 1), this.count);
      yield next.value.entry;
    }
  }
}
