import { describeLeaseProperties } from '../support/lease-properties';

describeLeaseProperties(30_000);
