import { Redis } from 'ioredis';
import type { Resource } from '../engine/lease';
import { safeOptions } from './connection';
import { resourceOfStateKey, wakeChannel } from './keys';

const REQUEST_ID_LENGTH = 36;

/**
 * Hears which requests of this server to look at again. Only hints come this way: whatever is lost while the
 * connection is down, the next touch or renewal brings.
 */
export class Notifications {
  private readonly client: Redis;

  constructor(options: {
    url: string;
    prefix: string;
    serverId: string;
    commandTimeoutMs: number;
    onLook: (resource: Resource, requestId: string) => void;
    onError: (error: Error) => void;
  }) {
    const { socketTimeout: _, ...safe } = safeOptions(options.commandTimeoutMs);
    // Subscribing is the one command here; it may wait for the connection, and is sent again after each break.
    this.client = new Redis(options.url, { ...safe, enableOfflineQueue: true, maxRetriesPerRequest: null });
    this.client.on('error', options.onError);
    this.client.on('message', (_channel: string, message: string) => {
      const resource = resourceOfStateKey(options.prefix, message.slice(REQUEST_ID_LENGTH));
      if (resource) options.onLook(resource, message.slice(0, REQUEST_ID_LENGTH));
    });
    this.client.on('ready', () => {
      this.client.subscribe(wakeChannel(options.prefix, options.serverId)).catch(options.onError);
    });
  }

  close(): void {
    this.client.disconnect();
  }
}
