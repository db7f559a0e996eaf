import type { AskedRequest } from './asked-request';
import type { ScenarioParts } from './client-process';

/**
 * A call was told SUPERSEDED. Expects that the store has another speaker for the request.
 * @param attach the end of the call's attach value
 */
export function expectSuperseded(
  { world, violations, isLossy }: ScenarioParts,
  { resource, fields: { requestId } }: AskedRequest,
  attach: string,
): void {
  const stored = world.model(resource).requests.find(({ id }) => id === requestId);
  if (isLossy || !stored?.attach.endsWith(attach)) return;
  violations.push(`${attach} was told SUPERSEDED, and speaks for ${requestId}`);
}
