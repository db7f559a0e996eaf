import type { SessionLease } from './session-lease';
import type { SessionLink } from './session-link';
import type { SessionRecord } from './session-record';
import { ReleaseCommand } from './short-commands';

interface Release {
  readonly lease: SessionLease;
  readonly done: () => void;
  isSent: boolean;
  /** The release was sent before. A repetition names the lease by its lease_id. */
  isRepeated: boolean;
}

const PAUSE_MS = 200;

/** The releases of a client. Each is repeated, in each next session too, until its answer. */
export class Releases {
  private readonly pending = new Map<string, Release>();
  private isClosed = false;

  constructor(
    private readonly record: SessionRecord,
    private readonly link: () => SessionLink | undefined,
  ) {}

  /** The number of releases without an answer. */
  get size(): number {
    return this.pending.size;
  }

  /** Releases a lease that is over for the client. Resolves with the answer, or with the end of the client. */
  async release(lease: SessionLease): Promise<void> {
    const { leaseId } = lease.held;
    if (this.pending.has(leaseId)) return;
    await new Promise<void>((done) => {
      const release = { lease, done, isSent: false, isRepeated: false };
      this.pending.set(leaseId, release);
      this.send(release);
    });
  }

  /** Repeats all releases in a new session. */
  opened(): void {
    for (const release of this.pending.values()) {
      release.isSent = false;
      this.send(release);
    }
  }

  close(): void {
    this.isClosed = true;
    for (const { done } of this.pending.values()) done();
  }

  private send(release: Release): void {
    const link = this.link();
    if (link === undefined || release.isSent || this.isClosed) return;
    const { lease, isRepeated } = release;
    release.isSent = true;
    release.isRepeated = true;
    const command = new ReleaseCommand(this.record, lease.held.hash, (failure) => {
      if (failure === undefined) this.finish(release);
      else this.repeatLater(release, link);
    });
    const { speaker, held } = lease;
    const isHere = speaker.linkNumber === link.number && speaker.lease !== undefined && !speaker.isFinished;
    const target =
      isHere && !isRepeated
        ? ({ $case: 'leaseNumber', value: BigInt(speaker.id) } as const)
        : ({ $case: 'leaseId', value: held.leaseId } as const);
    link.run({ $case: 'release', value: { lease: target } }, command);
  }

  private repeatLater(release: Release, link: SessionLink): void {
    setTimeout(() => {
      // A newer session has already repeated the release.
      if (this.link() !== link || this.pending.get(release.lease.held.leaseId) !== release) return;
      release.isSent = false;
      this.send(release);
    }, PAUSE_MS);
  }

  private finish(release: Release): void {
    this.pending.delete(release.lease.held.leaseId);
    release.done();
  }
}
