import { TYPESCRIPT } from './example-languages';
import { SCENES, testScenes } from './scenes';

testScenes(TYPESCRIPT, SCENES);
