import type { HoldfastError } from '../../src/engine/errors';
import { StoreFailure } from '../../src/engine/errors';
import { NOBODY } from '../support/fake-store';
import { contended, draining, storeFailed } from '../../src/engine/outcomes';

const LOCK = { service: 'lock', name: 'hello' } as const;
const ID = '01a1f89e-ab95-77dc-a5c3-74f67a69cde4';

function said(failure: StoreFailure, by?: 'lease_id'): HoldfastError {
  return storeFailed(failure, LOCK, ID, by) as HoldfastError;
}

describe('a store failure', () => {
  it('is unknown once anything may have run, even where the last try found the memory full', () => {
    expect(said(new StoreFailure('unknown', 'full')).reason).toBe('OUTCOME_UNKNOWN');
    expect(said(new StoreFailure('no', 'full')).reason).toBe('STORE_FULL');
    expect(said(new StoreFailure('no', 'unavailable')).reason).toBe('STORE_UNAVAILABLE');
  });

  it('names what the call is repeated by', () => {
    expect(said(new StoreFailure('unknown', 'unavailable')).message).toContain(ID);
    const renewal = said(new StoreFailure('unknown', 'unavailable'), 'lease_id');
    expect(renewal.message).toContain('the same lease_id');
    expect(renewal.message).not.toContain(ID);
  });

  it('passes a defect on as it is', () => {
    const defect = new TypeError('a bug');
    expect(storeFailed(defect, LOCK, ID)).toBe(defect);
  });
});

it('a draining server names the request_id, which the caller may never have seen', () => {
  expect(draining(ID).details.metadata).toEqual({ request_id: ID });
});

it('a wait that ended by its age is not told to raise what it did not set', () => {
  const outlook = { ...NOBODY, earliestEndMs: 1, waiterCount: 1 };
  expect(contended(LOCK, outlook, 5000, true).message).not.toContain('wait_timeout');
  expect(contended(LOCK, outlook, 5000).message).toContain('wait_timeout');
});
