import { describeLeaseProperties } from '../support/leases/lease-arena';
import { randomSteps } from '../support/leases/lease-commands';

describeLeaseProperties(randomSteps, 30_000);
