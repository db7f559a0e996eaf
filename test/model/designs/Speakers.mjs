// The designs of Speakers.tla. Each has the constants of `base`, except for those that it names.

export const lines = ['SPECIFICATION Spec'];

export const base = {
  Calls: '3',
  Decides: '"confirmed"',
  Compares: 'TRUE',
};

export const designs = {
  'right-speakers-sessions': {
    about: 'As right-speakers, with successive sessions of one client.',
    keeps: ['NoFalseEnd', 'SpeakerHolds', 'OneHolder'],
  },
  'right-speakers': {
    about: 'Three streams of one request on one server, and a stream on another server.',
    keeps: ['NoFalseEnd', 'SpeakerHolds', 'OneHolder'],
    with: { Compares: 'FALSE' },
  },
  'speakers-last': {
    about: 'The call whose reply is handled last holds the lease.',
    violates: 'NoFalseEnd',
    with: { Calls: '2', Decides: '"last"', Compares: 'FALSE' },
  },
  'speakers-number': {
    about:
      'The later session holds the lease. A stream on another server takes the lease over, and the earlier session takes it over from this stream.',
    violates: 'NoFalseEnd',
    with: { Calls: '2', Decides: '"number"' },
  },
};
