import { JAVA } from './example-languages';
import { SCENES, SECOND_SIGNAL_SCENES, testScenes } from './scenes';

testScenes(JAVA, [...SCENES, ...SECOND_SIGNAL_SCENES]);
