import type { Service } from '../../../../src/engine/leases/lease';
import type { Recorder } from '../../../support/history-recorder';
import type { ClientOptions } from '../../../support/clients/lease-client';
import { RecordedClient } from '../../recorded-client';

/** Past this, plus what it may wait, a unary call is given up: longer than a server takes to say that it cannot. */
const CALL_PATIENCE_MS = 4000;
const CLIENT_OPTIONS: ClientOptions = {
  patienceMs: CALL_PATIENCE_MS,
  // A server comes back within a second or two, and a test has no minute to wait for a connection to it.
  channel: { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 500 },
};

/** A worker's connections: one to each server it came to, for each of the services. */
export class Servers {
  private readonly clients = new Map<string, RecordedClient>();
  private at: number;
  private service: Service = 'lock';

  constructor(
    private readonly name: string,
    start: number,
    private readonly addresses: readonly string[],
    private readonly recorder: Recorder,
  ) {
    this.at = start;
  }

  use(service: Service): void {
    this.service = service;
  }

  /** Of the service in use, at the server that this worker goes to now. */
  get current(): RecordedClient {
    const address = this.addresses[this.at % this.addresses.length] ?? '';
    const key = `${this.service} ${address}`;
    const known = this.clients.get(key);
    if (known !== undefined) return known;
    const client = new RecordedClient(this.name, address, this.recorder, this.service, CLIENT_OPTIONS);
    this.clients.set(key, client);
    return client;
  }

  next(): void {
    this.at += 1;
  }

  close(): void {
    for (const client of this.clients.values()) client.close();
  }
}
