import type { Resource } from '../../engine/leases/lease';
import { resourceOfStateKey } from '../keys';

const REQUEST_ID_LENGTH = 36;

/** Asks this server to recheck a request. */
export interface Hint {
  readonly resource: Resource;
  readonly requestId: string;
}

/** Decodes a message of `send_hint` (scripts/leases/shared/servers.lua). Undefined: the message is no hint. */
export function readHint(prefix: string, message: string): Hint | undefined {
  const resource = resourceOfStateKey(prefix, message.slice(REQUEST_ID_LENGTH));
  return resource && { resource, requestId: message.slice(0, REQUEST_ID_LENGTH) };
}
