import { RUST } from './example-languages';
import { SCENES, SECOND_SIGNAL_SCENES, testScenes } from './scenes';

testScenes(RUST, [...SCENES, ...SECOND_SIGNAL_SCENES]);
