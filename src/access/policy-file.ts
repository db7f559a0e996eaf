import { join } from 'node:path';
import { TaskThread } from '../base/thread';
import type { Log } from '../base/log';
import { Policy, type QuotaRule } from './policy';
import type { PolicyContent, PolicyProblems } from './policy-text';
import type { PolicyThreadCalls } from './policy-thread-main';
import { UnusableFile, WatchedFiles, type NamedFile } from './watched-files';

const MAX_FILE_BYTES = 256 * 1024;

export interface PolicyFileOptions {
  readonly file: NamedFile;
  /** Further services that may have rules. Default: none. */
  readonly services?: readonly string[] | undefined;
  readonly log: Log;
  /** Called after each reload. Not called for the policy of the start. */
  readonly onChanged: (policy: Policy, quotas: readonly QuotaRule[]) => void;
  readonly intervalMs?: number | undefined;
}

/** The policy of a file. A changed file is used within about two seconds. A file that is no policy changes nothing. */
export class PolicyFile {
  private current: { readonly policy: Policy; readonly quotas: readonly QuotaRule[] } | undefined;
  private readonly watched: WatchedFiles;

  constructor(private readonly options: PolicyFileOptions) {
    const { file, log, intervalMs } = options;
    this.watched = new WatchedFiles({
      files: [file],
      subject: 'the policy',
      maxBytes: MAX_FILE_BYTES,
      load: ([content]) => this.load(content ?? Buffer.alloc(0)),
      log,
      intervalMs,
    });
  }

  get policy(): Policy {
    return this.loaded.policy;
  }

  get quotas(): readonly QuotaRule[] {
    return this.loaded.quotas;
  }

  /** Rejects with an UnusableFile. */
  start(): Promise<void> {
    return this.watched.start();
  }

  /** Whether the last change could not be used, so that older rules are in use. */
  get hasFailed(): boolean {
    return this.watched.hasFailed;
  }

  close(): void {
    this.watched.close();
  }

  private async load(content: Buffer): Promise<void> {
    const { file, log, services = [], onChanged } = this.options;
    const read = await readInThread({ text: content.toString('utf8'), services });
    if ('problems' in read) {
      throw new UnusableFile(
        `${file.setting}: ${file.path} is not a policy:\n${read.problems.map((problem) => `  ${problem}`).join('\n')}`,
      );
    }
    for (const warning of read.warnings) log.warn({ policy: file.path }, warning);
    const isReload = this.current !== undefined;
    const { rules, quotas } = read;
    this.current = { policy: new Policy(rules), quotas };
    if (isReload) onChanged(this.current.policy, quotas);
  }

  private get loaded() {
    if (this.current === undefined) throw new Error('the policy is not loaded');
    return this.current;
  }
}

/** The thread ends after its work, because reloads are rare. */
async function readInThread(
  policy: PolicyThreadCalls['readPolicy']['takes'],
): Promise<PolicyContent | PolicyProblems> {
  const thread = new TaskThread<PolicyThreadCalls>(join(__dirname, 'policy-thread-main'), undefined);
  try {
    return await thread.call('readPolicy', policy);
  } finally {
    await thread.close();
  }
}
