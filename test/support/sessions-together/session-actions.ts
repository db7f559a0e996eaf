import { attach, cancel, release } from '../clients/session-commands';
import type { Action } from './actions';
import { newestFirst } from './asked-request';
import type { ClientProcess } from './client-process';
import type { SessionClient } from './session-client';
import type { CommandRecord } from './session-record';
import { releaseById, update } from './session-messages';
import type { SessionServer } from './session-server';

type InSession = Extract<Action, { readonly who: number }>;

/** Does one step of a client process. Without an open session only `next` does something. */
export function actInSession(
  process: ClientProcess,
  action: InSession,
  serverOf: (index: number) => SessionServer,
): void {
  if (action.kind === 'next') {
    // The attach waits in the old session, and comes after the attaches of the next session.
    const before = process.session(0);
    if (before && action.old === 'stalled') before.isStalled = true;
    if (action.attaches && before) attachAgain(before, 0);
    process.openNext(serverOf(action.on), action.old);
    return;
  }
  const session = process.session(action.age);
  if (session !== undefined) actOn(session, action);
}

function actOn(session: SessionClient, action: Exclude<InSession, { readonly kind: 'next' }>): void {
  const { process } = session;
  const { requests } = process.parts;
  switch (action.kind) {
    case 'acquire':
      process.acquire(session, requests.choose(action));
      return;
    case 'attach': {
      const lease = requests.lease(action.pick);
      if (lease) session.send('attach', attach(lease.leaseId), lease.request);
      return;
    }
    case 'release':
      return releaseOne(session, action.pick, action.byId);
    case 'update': {
      const command = newestFirst(session.held, action.pick);
      if (command) session.send('update', update(command.id, 'updated'));
      return;
    }
    case 'cancel':
      return cancelOne(session, action.pick);
    case 'flow':
      session.read();
      return session.flow();
    case 'silence':
      session.isSilent = action.isSilent;
      return;
    case 'stall':
      session.isStalled = true;
      return;
    case 'stop-reading':
      return session.stopReading();
    case 'break':
      return session.break();
  }
}

function attachAgain(session: SessionClient, pick: number): void {
  const lease = newestFirst(session.held, pick)?.lease;
  if (lease) session.send('attach', attach(lease.leaseId), lease.request);
}

/** Releases a lease of the session by its number, or any lease by its id. */
function releaseOne(session: SessionClient, pick: number, byId: boolean): void {
  const { beliefs, requests } = session.process.parts;
  const command = byId ? undefined : newestFirst(session.held, pick);
  const lease = command?.lease ?? requests.lease(pick);
  if (lease === undefined) return;
  beliefs.letGo(lease);
  session.send('release', command ? release(command.id) : releaseById(lease.leaseId), lease.request);
}

function cancelOne(session: SessionClient, pick: number): void {
  const acquires = [...session.commands.values()].filter(({ kind }) => kind === 'acquire');
  const command = newestFirst(acquires, pick);
  if (command) cancelAcquire(session, command);
}

export function cancelAcquire(session: SessionClient, command: CommandRecord): void {
  command.isCancelled = true;
  session.send('cancel', cancel(command.id));
}
