import { describePermitsProperties } from '../support/permits-properties';

describePermitsProperties(30_000);
