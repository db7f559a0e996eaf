import type { Resource } from '../lease';
import { resourceOfStateKey } from '../../redis/buckets';

const REQUEST_ID_LENGTH = 36;

/** In place of a request id: something has changed that watches of the resource show (scripts/leases/shared/servers.lua). */
export const RESOURCE_CHANGED = '00000000-0000-0000-0000-000000000000';

/** Asks this server to recheck a request, or the whole resource. */
export interface Hint {
  readonly resource: Resource;
  readonly requestId: string;
}

/** Decodes a message of `tell_server` (scripts/leases/shared/servers.lua). Undefined: the message is no hint. */
export function readHint(prefix: string, message: string): Hint | undefined {
  const resource = resourceOfStateKey(prefix, message.slice(REQUEST_ID_LENGTH));
  return resource && { resource, requestId: message.slice(0, REQUEST_ID_LENGTH) };
}
