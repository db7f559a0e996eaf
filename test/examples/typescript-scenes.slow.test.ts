import { TYPESCRIPT } from './example-languages';
import { SLOW_SCENES, testScenes } from './scenes';

testScenes(TYPESCRIPT, SLOW_SCENES);
