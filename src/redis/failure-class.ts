/** The meanings of failed commands. No other file reads error texts of Redis or of ioredis. */

/** The text of the error of a command at its deadline. ioredis uses the same text. */
export const TIMED_OUT = 'Command timed out';

/** The beginning of the text of ioredis's error for a command that did not leave this process. */
export const NOT_WRITTEN = "Stream isn't writeable";

/** Redis refused the command before the first line of the script. */
const REFUSALS = /^(LOADING|MISCONF|BUSY|NOREPLICAS|NOAUTH|NOPERM)\b/;
/** The Redis user may not run a command of the script, which has stopped in the middle. Of Redis 7.0, and of later versions. */
const STOPPED = /^(ERR The user executing the script can't|NOPERM ACL failure in script)/;
/** Redis refused the command before the script's first line, but another node may accept the command, or this node later. */
const REDIRECTIONS = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|READONLY|MASTERDOWN)\b/;

/**
 * - `refused`, `redirected`, `full`, `unknown-script`, `not-written`: the command did certainly not run.
 * - `connection-lost`, `timed-out`: the command may have run. `stopped`: a part of the script has run.
 * - `defect`: the script or this program is wrong.
 */
export type FailureClass =
  | 'refused'
  | 'redirected'
  | 'full'
  | 'unknown-script'
  | 'not-written'
  | 'connection-lost'
  | 'timed-out'
  | 'stopped'
  | 'defect';

const MAY_HAVE_RUN: ReadonlySet<FailureClass> = new Set(['connection-lost', 'timed-out', 'stopped']);

/** True if the command may have run, or a part of its script. */
export function mayHaveRunAfter(failure: FailureClass): boolean {
  return MAY_HAVE_RUN.has(failure);
}

export function failureClassOf(error: unknown): FailureClass {
  if (isReplyError(error)) {
    const { message } = error;
    if (message.startsWith('NOSCRIPT') || message.startsWith('ERR Function not found'))
      return 'unknown-script';
    if (message.startsWith('OOM')) return 'full';
    if (REDIRECTIONS.test(message)) return 'redirected';
    if (STOPPED.test(message)) return 'stopped';
    return REFUSALS.test(message) ? 'refused' : 'defect';
  }
  if (!(error instanceof Error)) return 'defect';
  if (error.message.startsWith(NOT_WRITTEN)) return 'not-written';
  return error.message === TIMED_OUT ? 'timed-out' : 'connection-lost';
}

/** Redis answered with an error. The name is compared because ioredis exports the class without a type. */
export function isReplyError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

/** How Redis redirected a command, and to which node. */
export interface Redirection {
  readonly kind: 'moved' | 'ask' | 'try-again' | 'read-only' | 'no-master';
  /** `moved` and `ask` name the slot and its node. The host is empty if the node does not know its own address. */
  readonly slot: number;
  readonly host: string;
  readonly port: number;
}

const KINDS: Readonly<Record<string, Redirection['kind']>> = {
  MOVED: 'moved',
  ASK: 'ask',
  TRYAGAIN: 'try-again',
  READONLY: 'read-only',
};

/** Returns the redirection that Redis sent as an error. Undefined: the error is no redirection. */
export function redirectionOf(error: unknown): Redirection | undefined {
  if (!(error instanceof Error)) return undefined;
  const [word] = REDIRECTIONS.exec(error.message) ?? [];
  if (word === undefined) return undefined;
  const [, slot, host = '', port] = /^(?:MOVED|ASK) (\d+) (\S*):(\d+)/.exec(error.message) ?? [];
  return { kind: KINDS[word] ?? 'no-master', slot: Number(slot), host, port: Number(port) };
}

/** This Redis user may not run the command. */
export function isNotPermitted(error: unknown): boolean {
  return isReplyError(error) && error.message.startsWith('NOPERM');
}

/** The command is not permitted, or this Redis does not have it. */
export function isNotOffered(error: unknown): boolean {
  return isReplyError(error) && /^(NOPERM|ERR)\b/.test(error.message);
}
