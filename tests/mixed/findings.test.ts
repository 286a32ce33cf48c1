import { type Arrived, asksToRepeat, checkCallbacks, checkDeadLetters, wrongWith } from './findings.ts';

const begun = [{ what: 'a command', transactionId: 7, deviceId: 'd' }];
let drawn = 0;
const arrived = (body: object, more: Partial<Arrived> = {}): Arrived => ({
  ...{ webhookId: `w${++drawn}`, verified: true },
  body: { transactionId: 7, ...body },
  ...more,
});
const accepted = arrived({ notificationType: 'accepted' });
const progress = arrived({ notificationType: 'progress' });
const processed = arrived({ notificationType: 'processed', result: 'success' });
const listed = arrived({ statusCode: 200 });

describe('callbacks of mixed versions', () => {
  test.each<[string, Arrived[]]>([
    ['an operation', [accepted, progress, processed]],
    ['a connectivity operation', [accepted, listed]],
    ['a repeat with the same id', [accepted, processed, accepted, processed]],
    ['a callback without a transaction', [accepted, arrived({ transactionId: undefined }), processed]],
  ])('%s is valid', (_, arrivals) => {
    expect(checkCallbacks(begun, arrivals)).toEqual([]);
  });

  test.each<[string, Arrived[], RegExp]>([
    ['no callback', [], /sent nothing/],
    ['no end', [accepted], /sent accepted$/],
    ['an end without accepted', [processed], /sent the end$/],
    [
      'two ends',
      [accepted, processed, { ...processed, webhookId: 'other' }],
      /sent accepted, the end, the end/,
    ],
    ['an end before accepted', [processed, accepted], /sent the end, accepted/],
    ['progress after the end', [accepted, processed, progress], /sent progress after the end/],
    [
      'a failure',
      [accepted, arrived({ notificationType: 'processed', result: 'failure' })],
      /ended by .*failure/,
    ],
    ['a failed list', [accepted, arrived({ statusCode: 500 })], /ended by .*500/],
    [
      'a wrong signature',
      [accepted, processed, { ...processed, verified: false }],
      /without a valid signature/,
    ],
  ])('%s is reported', (_, arrivals, finding) => {
    expect(checkCallbacks(begun, arrivals)).toEqual([expect.stringMatching(finding)]);
  });
});

describe('responses while processes are replaced', () => {
  const answer = (status: number, headers = {}) => ({ status, headers, body: { message: 'm' } });
  test('503 with Retry-After is allowed and requires a repeat', () => {
    const unavailable = answer(503, { 'retry-after': '1' });
    expect([wrongWith(unavailable), asksToRepeat(unavailable)]).toEqual([undefined, true]);
    expect(asksToRepeat(undefined)).toBe(true);
    expect([wrongWith(answer(201)), asksToRepeat(answer(201))]).toEqual([undefined, false]);
  });
  test.each([answer(503), answer(503, { 'retry-after': '0' }), answer(500), answer(502), answer(404)])(
    'any other error is reported: $status $headers',
    (refused) => {
      expect(wrongWith(refused)).toContain(String(refused.status));
    },
  );
});

describe('dead letters', () => {
  const deadLetter = (kind: string, state = 'waiting') => ({ id: 'i', key: 'k', error: 'e', kind, state });
  test('that wait for a newer version are allowed while versions are mixed, but not at the end', () => {
    const waiting = [
      deadLetter('newer-version'),
      deadLetter('behind'),
      deadLetter('newer-version', 'replaying'),
    ];
    expect(checkDeadLetters(waiting, true)).toEqual([]);
    expect(checkDeadLetters(waiting, false)).toHaveLength(3);
    expect(checkDeadLetters([deadLetter('newer-version', 'replayed')], false)).toEqual([]);
  });
  test('of invalid events are always reported', () => {
    expect(checkDeadLetters([deadLetter('poison')], true)).toEqual(['i is a dead letter (poison): e']);
  });
});
