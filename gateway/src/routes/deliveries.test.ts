import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const path = '/v1/applications/app-1/deliveries';
const asked = (rpc: string) =>
  suite.gateway.fakes.seen.find((s) => s.rpc === rpc)?.request as Record<string, unknown>;

describe('deliveries', () => {
  test('filters reach the notifier, and a delivery is returned with its dates', async () => {
    suite.gateway.fakes.answers.findDeliveries = async () => ({
      deliveries: [
        {
          ...{
            deliveryId: 'tx-7-processed',
            type: 'notify-update-result',
            destination: 'deviceEvent',
            deviceId,
          },
          ...{ transactionId: 7n, state: 'pending', attempts: 2, createdAtMs: 1_767_225_600_000n },
          nextAttemptAtMs: 1_767_225_601_000n,
          lastAttempt: {
            ...{
              atMs: 1_767_225_600_500n,
              durationMs: 5,
              statusCode: 0,
              reason: 'dns',
              message: 'no name',
              host: 'a.test',
            },
          },
        },
      ],
      cursor: 'next',
    });
    const query = `state=pending&destination=deviceEvent&types=notify-boot&deviceId=${deviceId}&transactionId=7&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00%2B09:00&after=c&limit=5`;
    const answer = await suite.gateway.request('GET', `${path}?${query}`);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      200,
      {
        deliveries: [
          {
            ...{
              webhookId: 'tx-7-processed',
              type: 'notify-update-result',
              destination: 'deviceEvent',
              deviceId,
            },
            ...{ transactionId: 7, state: 'pending', attemptCount: 2, createdAt: '2026-01-01T00:00:00.000Z' },
            ...{ nextAttemptAt: '2026-01-01T00:00:01.000Z', endedAt: null },
            lastAttempt: {
              ...{
                at: '2026-01-01T00:00:00.500Z',
                durationMs: 5,
                status: null,
                reason: 'dns',
                message: 'no name',
              },
              ...{ host: 'a.test', answer: null },
            },
          },
        ],
        cursor: 'next',
      },
    ]);
    expect(asked('findDeliveries')).toMatchObject({
      ...{ applicationId: 'app-1', state: 'pending', destination: 'deviceEvent', types: ['notify-boot'] },
      ...{ deviceId, transactionId: 7n, after: 'c', limit: 5 },
      ...{ fromMs: 1_767_225_600_000n, toMs: BigInt(Date.parse('2026-01-01T15:00:00Z')) },
    });
  });

  test('an invalid request is 400', async () => {
    for (const query of [
      'state=none',
      'destination=x',
      'limit=0',
      'from=yesterday',
      'to=2026-13-01',
      'transactionId=0',
    ]) {
      const { status } = await suite.gateway.request('GET', `${path}?${query}`);
      expect([query, status]).toEqual([query, 400]);
    }
  });

  test('sending again passes on the caller and force', async () => {
    const body = JSON.stringify({ force: true });
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'k' };
    const answer = await suite.gateway.request('POST', `${path}/n-1/redeliver`, { body, headers } as never);
    expect(answer.status).toBe(200);
    expect(asked('sendAgain')).toMatchObject({
      deliveryId: 'n-1',
      force: true,
      caller: { applicationId: 'app-1' },
    });
  });

  test('a recovery is started or counted, and its progress can be read', async () => {
    const body = JSON.stringify({
      since: '2026-01-01T09:00:00+09:00',
      types: ['notify-boot'],
      delivered: true,
    });
    const begun = await suite.gateway.request('POST', `${path}/recover`, { body });
    expect([begun.status, JSON.parse(begun.text)]).toEqual([
      200,
      {
        count: 3,
        recovery: {
          ...{ recoveryId: 'recovery-1', state: 'running', total: 3, done: 0 },
          ...{ beganAt: '2026-01-01T00:00:00.000Z', endedAt: null },
        },
      },
    ]);
    expect(asked('recover')).toMatchObject({
      ...{
        sinceMs: 1_767_225_600_000n,
        types: ['notify-boot'],
        delivered: true,
        dryRun: false,
        destination: '',
      },
    });
    const read = await suite.gateway.request('GET', '/v1/applications/app-1/recoveries/recovery-1');
    expect(JSON.parse(read.text)).toMatchObject({
      state: 'ended',
      done: 3,
      endedAt: '2026-01-01T00:00:00.001Z',
    });
    for (const wrong of [
      {},
      { since: 'x' },
      // A leap second, which JavaScript does not support.
      { since: '2016-12-31T23:59:60Z' },
      { since: '2026-01-01T00:00:00Z', types: [] },
      { since: '2026-01-01T00:00:00Z', types: ['notify-none'] },
    ]) {
      const refused = await suite.gateway.request('POST', `${path}/recover`, { body: JSON.stringify(wrong) });
      expect([wrong, refused.status, refused.text]).toEqual([
        wrong,
        400,
        '{"message":"Invalid request body"}',
      ]);
      expect(refused.headers['x-error-detail']).not.toContain('query');
    }
  });

  test('recover is not a delivery id: methods other than POST are unknown there', async () => {
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await suite.gateway.request(method, `${path}/recover`)).status).toBe(403);
  });
});
