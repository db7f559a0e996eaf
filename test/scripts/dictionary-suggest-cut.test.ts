import { testCutSuggestions } from '../support/dictionary-suggest-cut';

testCutSuggestions(20);
