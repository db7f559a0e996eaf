import { GO } from './example-languages';
import { SCENES, SECOND_SIGNAL_SCENES, testScenes } from './scenes';

testScenes(GO, [...SCENES, ...SECOND_SIGNAL_SCENES]);
