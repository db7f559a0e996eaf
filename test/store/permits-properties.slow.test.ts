import { describeLeaseProperties } from '../support/leases/lease-arena';

describeLeaseProperties(30_000);
