import { describeLeaseProperties } from '../support/leases/lease-arena';

describeLeaseProperties(4000);
