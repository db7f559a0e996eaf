import { ListOrder } from '../../../generated/typescript/holdfast/v1/lease';
import type { ListRequest } from '../lease-requests';
import { MAX_NAME_BYTES } from '../../base/names';
import { LIST_PAGES } from '../../base/pages';
import { MAX_IDENTITY_BYTES } from '../../access/identity';
import { checkPageSize, checkText, Violations } from '../../rpc/fields';
import { checkHolderId } from './fields';

/** The fields that ListLocksRequest and ListSemaphoresRequest share. */
export interface ListFields {
  readonly namePrefix: string;
  readonly holderId: string;
  readonly pageSize: number;
  readonly pageToken: string;
  readonly orderBy: ListOrder;
  readonly identity: string;
}

/** Checks the request of a list and translates it for the engine. Throws INVALID_FIELD. */
export function readList({
  namePrefix,
  holderId,
  identity,
  pageSize,
  pageToken,
  orderBy,
}: ListFields): ListRequest {
  const violations = new Violations();
  checkText(violations, 'name_prefix', namePrefix, MAX_NAME_BYTES);
  checkHolderId(violations, 'holder_id', holderId);
  if (identity !== '') checkText(violations, 'identity', identity, MAX_IDENTITY_BYTES);
  const request = {
    namePrefix,
    holderId,
    identity,
    pageSize: checkPageSize(violations, 'page_size', pageSize, LIST_PAGES),
    pageToken,
    order: readOrder(violations, orderBy),
  };
  if (request.order === 'waiter-count' && pageToken !== '') {
    violations.add('page_token', 'must be empty: a list with this order_by has one page');
  }
  violations.throwIfAny();
  return request;
}

function readOrder(violations: Violations, orderBy: ListOrder): ListRequest['order'] {
  switch (orderBy) {
    case ListOrder.LIST_ORDER_UNSPECIFIED:
      return 'fixed';
    case ListOrder.LIST_ORDER_WAITER_COUNT:
      return 'waiter-count';
    default:
      violations.add('order_by', `${orderBy} is not a ListOrder`);
      return 'fixed';
  }
}
