import { PYTHON } from './example-languages';
import { SCENES, testScenes } from './scenes';

testScenes(PYTHON, SCENES);
