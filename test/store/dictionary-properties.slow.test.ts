import { testRandomHistories } from '../support/dictionary-properties';

testRandomHistories(120, 600_000);
