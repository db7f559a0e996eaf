import { PYTHON } from './example-languages';
import { FAST_SCENES, SLOW_SCENES, testScenes } from './scenes';

testScenes(PYTHON, [...FAST_SCENES, ...SLOW_SCENES]);
