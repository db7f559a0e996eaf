import { describeLeaseProperties } from '../support/lease-properties';

describeLeaseProperties(4000);
