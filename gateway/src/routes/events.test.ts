import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const path = '/v1/applications/app-1/events';
const asked = () =>
  suite.gateway.fakes.seen.find((s) => s.rpc === 'readEvents')?.request as Record<string, unknown>;

describe('the event feed', () => {
  // proves ext/feed/form
  test('events are returned with their bodies as text, byte for byte', async () => {
    const body = '{"deviceId":null, "n":12345678901234567890, "文":"\\u0000"}';
    suite.gateway.fakes.answers.readEvents = async () => ({
      events: [
        {
          ...{
            eventId: 'sora-1',
            resends: 0,
            type: 'notify-sora-event',
            destination: 'soraEvent',
            deviceId: '',
          },
          ...{ createdAtMs: 1_767_225_600_000n, body },
        },
      ],
      ...{ cursor: 'next', more: true },
    });
    const answer = await suite.gateway.request('GET', path);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual({
      events: [
        {
          ...{ webhookId: 'sora-1', type: 'notify-sora-event', destination: 'soraEvent' },
          ...{ createdAt: '2026-01-01T00:00:00.000Z', deviceId: null, body },
        },
      ],
      ...{ cursor: 'next', more: true },
    });
    expect(asked()).toMatchObject({ applicationId: 'app-1', after: '', limit: 100, types: [], deviceId: '' });
  });

  test('cursor, limit and filters reach the notifier', async () => {
    await suite.gateway.request(
      'GET',
      `${path}?after=abc&limit=7&types=notify-boot,notify-volume&deviceId=${deviceId}`,
    );
    expect(asked()).toMatchObject({
      ...{ after: 'abc', limit: 7, deviceId, types: ['notify-boot', 'notify-volume'], withResends: false },
    });
    expect(asked()['fromMs']).toBeUndefined();
  });

  // proves ext/feed/resends
  test('the start time and the request for resends reach the notifier, too; each resend has its number', async () => {
    suite.gateway.fakes.answers.readEvents = async () => ({
      events: [
        {
          ...{ eventId: 'n-1', type: 'notify-boot', destination: 'deviceEvent', deviceId },
          ...{ createdAtMs: 1_767_225_600_000n, body: '{}', resends: 3 },
        },
      ],
      ...{ cursor: 'next', more: false },
    });
    const from = encodeURIComponent('2026-01-01T09:00:00+09:00');
    const answer = await suite.gateway.request('GET', `${path}?from=${from}&resends=true`);
    expect(JSON.parse(answer.text).events[0]).toMatchObject({ webhookId: 'n-1', resend: 3 });
    expect(asked()).toMatchObject({ after: '', fromMs: 1_767_225_600_000n, withResends: true });
  });

  // proves ext/feed/cursors
  test('an invalid request is 400 with the reason', async () => {
    for (const [query, reason] of [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=x', 'limit'],
      ['types=', 'types'],
      ['types=notify-none', 'notify-none'],
      ['types=notify-boot,,notify-volume', 'types'],
      ['deviceId=1', 'deviceId'],
      ['after=', 'after'],
      [`after=${'a'.repeat(8001)}`, 'after'],
      ['after=a&after=b', 'after'],
      ['after=a&from=2026-01-01T00:00:00Z', 'after and from'],
      ['from=2026-02-30T00:00:00Z', 'from'],
      ['from=yesterday', 'from'],
      ['resends=yes', 'resends'],
      [
        'type=notify-boot',
        'There is no query parameter "type"; known parameters: after, from, limit, types, deviceId, resends.',
      ],
      ['from=2026-01-01', 'from must be a date and time (RFC 3339)'],
    ]) {
      const answer = await suite.gateway.request('GET', `${path}?${query}`);
      expect([query, answer.status, JSON.parse(answer.text).message]).toEqual([
        query,
        400,
        expect.stringContaining(reason as string),
      ]);
    }
    suite.gateway.fakes.answers.readEvents = async () => {
      throw new DomainError('invalid_argument', 'The cursor is not known.');
    };
    const refused = await suite.gateway.request('GET', `${path}?after=x`);
    expect([refused.status, JSON.parse(refused.text)]).toEqual([
      400,
      { message: 'The cursor is not known.' },
    ]);
  });
});
