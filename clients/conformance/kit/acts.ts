import type { ScriptedServer } from '../server/scripted-server';
import type { ScriptedSession } from '../server/session';
import { statusSpec } from '../server/status-spec';
import type { Store } from '../server/store';
import type { Values } from './case-file';

/** The step `set`, and the settings of a server. The loader has checked the names. */
export function changeBehaviour({ behaviour, sessions }: ScriptedServer, values: Values): void {
  const { echo, renew, silent, tokens, refuse, add_offset_ms: add, name_heartbeat: named } = values;
  const {
    heartbeat_interval_ms: interval,
    heartbeat_timeout_ms: timeout,
    max_command_count: commands,
  } = values;
  if (echo !== undefined) behaviour.echo = echo === true;
  if (echo === true) for (const { session } of sessions) session.output.echo();
  if (renew !== undefined) behaviour.renew = renew === true;
  if (silent !== undefined) behaviour.silent = silent === true;
  if (tokens !== undefined) behaviour.tokens = (tokens as string[] | null) ?? undefined;
  if (refuse !== undefined) behaviour.refuse = refuse === null ? undefined : statusSpec(refuse);
  if (named !== undefined) behaviour.nameHeartbeat = (named as number | null) ?? undefined;
  if (add !== undefined) behaviour.addOffsetMs = Number(add);
  if (timeout !== undefined) behaviour.heartbeatTimeoutMs = Number(timeout);
  if (commands !== undefined) behaviour.maxCommandCount = Number(commands);
  if (interval === undefined) return;
  behaviour.heartbeatIntervalMs = Number(interval);
  for (const { session } of sessions) if (session.isOpen) session.output.interval(Number(interval));
}

/** The step `send`: `renewals: [{name, ttl_ms}]`, `renewal_failed: [name]`, `ended: [{name, cause}]`. */
export function sendResponse(session: ScriptedSession, store: Store, values: Values): void {
  const { renewals = [], renewal_failed: failed = [], ended = [], ...rest } = values;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw new Error(`"send" has no field "${unknown}"`);
  const numberOf = (name: unknown): bigint => {
    const number = session.numberOf(String(name));
    if (number === undefined) throw new Error(`${String(name)} is no lease of the session`);
    return number;
  };
  for (const name of failed as string[]) {
    const held = store.heldBy(name);
    if (held) session.output.renewalFailed(numberOf(name), held);
  }
  for (const { name, cause } of ended as Values[])
    session.output.ended(numberOf(name), cause as string | number);
  for (const { name, ttl_ms: ttlMs } of renewals as Values[]) {
    // Also of a lease that has ended, because a client must ignore such a renewal.
    const held = store.granted.find((one) => one.wanted.name === name);
    if (!held) throw new Error(`${String(name)} was never granted`);
    held.until = performance.now() + held.wanted.ttlMs;
    session.output.renewal(numberOf(name), held, ttlMs as number | undefined);
  }
}
