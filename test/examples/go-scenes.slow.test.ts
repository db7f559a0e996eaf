import { GO } from './example-languages';
import { FAST_SCENES, SECOND_SIGNAL_SCENES, SLOW_SCENES, testScenes } from './scenes';

testScenes(GO, [...FAST_SCENES, ...SLOW_SCENES, ...SECOND_SIGNAL_SCENES]);
