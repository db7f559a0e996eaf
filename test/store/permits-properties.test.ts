import { describePermitsProperties } from '../support/permits-properties';

describePermitsProperties(4000);
