import { SendTestCallbackRequestSchema } from '@headset-cloud/proto/notifier/v1/test_callbacks_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { expect, test } from '@jest/globals';
import { callbackCheck } from '../openapi/callbacks.ts';
import { readEventTypes } from '../openapi/event-types.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const path = '/v1/applications/app-1/test_callbacks';
const asked = () => {
  const request = suite.asked('sendTestCallback', SendTestCallbackRequestSchema);
  return request && { ...request, body: JSON.parse(Buffer.from(request.body).toString()) };
};

test.each(readEventTypes().flatMap((one) => one.examples.map(({ name }) => [one.type, name, one] as const)))(
  '%s, example %s: the body matches the document, with this application and the current time',
  async (type, example, { destination, name }) => {
    const before = Date.now();
    const answer = await suite.send('POST', path, { type, destination, example });
    expect(answer.status).toBe(200);
    const request = asked();
    expect(request).toMatchObject({ destination, verify: false, caller: { applicationId: 'app-1' } });
    expect(callbackCheck()(name, request?.body)).toEqual([]);
    expect(request?.body.applicationId).toBe('app-1');
    if ('timestamp' in (request?.body ?? {})) {
      expect(request?.body.timestamp).toBeGreaterThanOrEqual(before);
    }
    expect(JSON.parse(answer.text)).toMatchObject({
      type,
      destination,
      body: request?.body,
      statusCode: 204,
    });
  },
);

test('fields replace fields of the example, except the application', async () => {
  const fields = { deviceId: '350000000000014', applicationId: 'app-2' };
  await suite.send('POST', path, { type: 'notify-custom-data', destination: 'deviceEvent', fields });
  expect(asked()?.body).toMatchObject({ deviceId: '350000000000014', applicationId: 'app-1' });
});

const boot = { type: 'notify-boot', destination: 'deviceEvent' };
test.each([
  [{ ...boot, type: 'notify-nothing' }, '/type is not a type of callback (GET .../event_types).'],
  [{ ...boot, type: 'notify-__proto__' }, '/type must match pattern "^notify-[a-z-]+$".'],
  [{ ...boot, type: 'notify-constructor' }, '/type is not a type of callback (GET .../event_types).'],
  [{ ...boot, destination: 'soraEvent' }, '/destination must be deviceEvent for this type.'],
  [{ ...boot, destination: 'fileUploadGetUrl' }, expect.stringMatching(/^\/destination must be one of/)],
  [{ ...boot, example: 'none' }, '/example is not an example of this type (GET .../event_types).'],
  [{ ...boot, fields: { more: 1 } }, '/fields/more is not a known field.'],
  [{ ...boot, fields: { deviceId: 1 } }, '/fields/deviceId must be a string.'],
  [{ ...boot, url: 'http://169.254.169.254/' }, '/url is not a known field.'],
  [{ ...boot, verify: 'yes' }, '/verify must be a boolean.'],
  [{ type: 'notify-boot' }, '/destination is required.'],
])('%j is 400 with the reason', async (body, detail) => {
  await suite.refused('POST', path, body, detail as string);
});

test.each([5, {}, { file: 1 }, { file: 'a', splitted: 0 }])(
  'a nested field that matches none of its allowed forms (%j) is 400',
  async (webmFile) => {
    const connections = [{ connectionId: 'c', jsonFile: 'd', webmFile }];
    const fields = { channel: { channelId: 'a', metaFile: 'b', connections } };
    const recording = { type: 'notify-recording', destination: 'soraFileSendEvent', fields };
    expect((await suite.send('POST', path, recording)).status).toBe(400);
    expect(asked()).toBeUndefined();
  },
);

test('the result is returned, including a failure', async () => {
  const tls = {
    ...{ protocol: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384', subject: 'a.test', issuer: 'CA' },
    validToMs: 1_767_225_600_000n,
  };
  suite.fakes.answers.sendTestCallback = async () => ({
    ...{ webhookId: 'test-1', host: 'a.test', body: Buffer.from('{}') },
    attempt: { statusCode: 0, reason: 'The host name cannot be resolved.', atMs: 1n, durationMs: 3 },
    verification: { refused: false, attempt: { statusCode: 204, tls, answer: 'x', answerCut: true } },
  });
  const { text } = await suite.send('POST', path, { ...boot, verify: true });
  expect(asked()?.verify).toBe(true);
  expect(JSON.parse(text)).toMatchObject({
    ...{ host: 'a.test', statusCode: null, answer: null, reason: 'The host name cannot be resolved.' },
    verification: {
      ...{ refused: false, statusCode: 204, reason: null, answer: 'x', answerTruncated: true },
      tls: { protocol: 'TLSv1.3', validTo: '2026-01-01T00:00:00.000Z' },
    },
  });
});

test('too many concurrent test callbacks are 429 with the limit and Retry-After', async () => {
  suite.fakes.answers.sendTestCallback = async () => {
    throw new DomainError('too_many_requests', 'Too many.', {
      limit: { policy: 'test-callbacks', quota: 5, concurrent: true },
      retryAfterMs: 1000,
    });
  };
  const { status, headers } = await suite.send('POST', path, boot);
  expect([status, headers['retry-after'], headers['ratelimit-policy']]).toEqual([
    ...[429, '1'],
    '"test-callbacks";q=5;qu="concurrent-requests"',
  ]);
});
