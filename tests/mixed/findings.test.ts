import { type Arrived, asksToRepeat, judgeCallbacks, judgeSetAside, wrongWith } from './findings.ts';

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
    ['a repeat under the same id', [accepted, processed, accepted, processed]],
    ['what is of no transaction', [accepted, arrived({ transactionId: undefined }), processed]],
  ])('%s is well', (_, arrivals) => {
    expect(judgeCallbacks(begun, arrivals)).toEqual([]);
  });

  test.each<[string, Arrived[], RegExp]>([
    ['no callback', [], /told nothing/],
    ['no end', [accepted], /told accepted$/],
    ['an end without its beginning', [processed], /told the end$/],
    [
      'two ends',
      [accepted, processed, { ...processed, webhookId: 'other' }],
      /told accepted, the end, the end/,
    ],
    ['an end before accepted', [processed, accepted], /told the end, accepted/],
    ['progress after the end', [accepted, processed, progress], /told progress after the end/],
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
  ])('%s is found', (_, arrivals, finding) => {
    expect(judgeCallbacks(begun, arrivals)).toEqual([expect.stringMatching(finding)]);
  });
});

describe('answers while processes are swapped', () => {
  const answer = (status: number, headers = {}) => ({ status, headers, body: { message: 'm' } });
  test('503 with Retry-After is allowed and asks to repeat', () => {
    const turnedAway = answer(503, { 'retry-after': '1' });
    expect([wrongWith(turnedAway), asksToRepeat(turnedAway)]).toEqual([undefined, true]);
    expect(asksToRepeat(undefined)).toBe(true);
    expect([wrongWith(answer(201)), asksToRepeat(answer(201))]).toEqual([undefined, false]);
  });
  test.each([answer(503), answer(503, { 'retry-after': '0' }), answer(500), answer(502), answer(404)])(
    'any other refusal is found: $status $headers',
    (refused) => {
      expect(wrongWith(refused)).toContain(String(refused.status));
    },
  );
});

describe('events that are set aside', () => {
  const letter = (kind: string, state = 'waiting') => ({ id: 'i', key: 'k', error: 'e', kind, state });
  test('may wait for a newer version while versions are mixed, and not at the end', () => {
    const waiting = [letter('newer-version'), letter('behind'), letter('newer-version', 'replaying')];
    expect(judgeSetAside(waiting, true)).toEqual([]);
    expect(judgeSetAside(waiting, false)).toHaveLength(3);
    expect(judgeSetAside([letter('newer-version', 'replayed')], false)).toEqual([]);
  });
  test('poison is always found', () => {
    expect(judgeSetAside([letter('poison')], true)).toEqual(['i is set aside (poison): e']);
  });
});
