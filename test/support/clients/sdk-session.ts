import { LeaseLostError, type Lease as PublicLease, type LossCause } from '../../../clients/typescript';
import type { Acquire } from '../../../clients/typescript/sessions/acquire-intent';
import { grpcWires } from '../../../clients/typescript/sessions/grpc-wire';
import type { Lease } from '../../../clients/typescript/sessions/lease';
import { SessionClient, type SessionSettings } from '../../../clients/typescript/sessions/session-client';

type Options = Omit<Acquire, 'kind' | 'name'>;

/** The sessions of the SDK, without TLS. */
export function openSession(settings: Omit<SessionSettings, 'openWire'>): SessionClient {
  return new SessionClient({ openWire: grpcWires(undefined), ...settings });
}

export function lock(client: SessionClient, name: string, options: Options = {}): Promise<Lease> {
  return client.acquire({ kind: 'lock', name, ...options });
}

export function permits(client: SessionClient, name: string, options: Options = {}): Promise<Lease> {
  return client.acquire({ kind: 'permits', name, ...options });
}

/** Why the lease is over. Undefined: this process may still rely on the lease. */
export function causeOf(lease: PublicLease): LossCause | undefined {
  if (!lease.isOver) return undefined;
  const reason: unknown = lease.signal.reason;
  return reason instanceof LeaseLostError ? reason.lossCause : undefined;
}
