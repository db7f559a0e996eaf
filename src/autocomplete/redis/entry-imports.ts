import type { LostImport, Missing, OtherProfile, StoredEntry } from '../entry-store';
import type { Profile } from '../suggestion';
import { confirmed } from '../../redis/node/confirmations';
import { type BulkWrites, partlyDone, putChunks } from './writes';
import { newGenerationId, newWriteId } from './entry-keys';
import {
  type EntryCommands,
  LOST,
  OK,
  type Ok,
  profileText,
  readImportStep,
  readStartImport,
  scripts,
} from './entry-replies';
import { pack } from './packing';

/**
 * The most steps of one call that follow the live generation. Other writers may be faster. A write to a full feed also
 * lets imports follow, so the import loses no write.
 */
const MOST_FOLLOW_STEPS = 16;

/** Imports of dictionaries. One server carries out an import from its start to its end. */
export class EntryImports {
  /** The number of chunks that each import of this server has sent, by name and import id. */
  readonly #sent = new Map<string, number>();

  constructor(
    private readonly on: EntryCommands,
    private readonly bulk: BulkWrites,
  ) {}

  async start(
    name: string,
    importId: string,
    profile: Profile | undefined,
    defaultProfile: Profile,
    owner: string,
  ): Promise<Ok | OtherProfile | { readonly kind: 'busy' } | Missing> {
    const args = [
      profile ? profileText(profile) : '',
      profileText(defaultProfile),
      importId,
      newGenerationId(),
      owner,
    ];
    const started = await this.on.send(scripts.startImport, name, args, readStartImport);
    const key = keyOf(name, importId);
    if (started.kind === 'ok' && !this.#sent.has(key)) this.#sent.set(key, 0);
    return started;
  }

  async put(name: string, importId: string, entries: readonly StoredEntry[]): Promise<Ok | LostImport> {
    const key = keyOf(name, importId);
    if (entries.length === 0) return this.signOfLife(name, importId);
    const admission = this.bulk.newCall();
    for (const chunk of putChunks(entries)) {
      await admission.admit(this.on.keyOf(name));
      const number = this.#sent.get(key);
      if (number === undefined) return LOST;
      this.#sent.set(key, number + 1);
      const args = [importId, number + 1, chunk];
      const step = await this.on.send(scripts.putImported, name, args, readImportStep);
      if (step.kind === 'lost') return this.lost(name, importId);
    }
    return this.follow(name, importId);
  }

  /** Has no number, because it may overtake a chunk that is sent again. */
  private async signOfLife(name: string, importId: string): Promise<Ok | LostImport> {
    const step = await this.on.send(scripts.putImported, name, [importId, 0, pack([])], readImportStep);
    return step.kind === 'lost' ? this.lost(name, importId) : this.follow(name, importId);
  }

  async commit(name: string, importId: string): Promise<Ok | LostImport> {
    const writeId = newWriteId();
    const sentCount = this.#sent.get(keyOf(name, importId)) ?? 0;
    const read = confirmed(this.on.keyOf(name), readImportStep, ({ kind }) => kind === 'ok');
    const commit = (hasBegun: boolean) => {
      const args = [importId, writeId, sentCount, hasBegun ? 1 : 0];
      return this.on.send(scripts.commitImport, name, args, read);
    };
    try {
      let step = await commit(false);
      // Since the first step, writers may complete the commit.
      while (step.kind === 'again') {
        step = await commit(true).catch((error: unknown) => {
          throw partlyDone(error);
        });
      }
      return step;
    } finally {
      this.#sent.delete(keyOf(name, importId));
    }
  }

  async abandon(name: string, importId: string): Promise<void> {
    this.#sent.delete(keyOf(name, importId));
    await this.on.send(scripts.abandonImport, name, [importId], () => undefined);
  }

  /** Follows the live generation regularly, so that writers need not wait until the import follows. */
  private async follow(name: string, importId: string): Promise<Ok | LostImport> {
    for (let steps = 0; steps < MOST_FOLLOW_STEPS; steps += 1) {
      const step = await this.on.send(scripts.followImport, name, [importId], readImportStep);
      if (step.kind === 'lost') return this.lost(name, importId);
      if (step.kind === 'ok') break;
    }
    return OK;
  }

  private lost(name: string, importId: string): LostImport {
    this.#sent.delete(keyOf(name, importId));
    return LOST;
  }
}

/** No name has the character NUL. */
function keyOf(name: string, importId: string): string {
  return `${name}\0${importId}`;
}
