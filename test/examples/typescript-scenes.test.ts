import { TYPESCRIPT } from './example-languages';
import { FAST_SCENES, testScenes } from './scenes';

testScenes(TYPESCRIPT, FAST_SCENES);
