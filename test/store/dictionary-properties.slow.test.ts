import { testRandomHistories } from '../support/autocomplete/dictionary-history';

testRandomHistories(120, 600_000);
