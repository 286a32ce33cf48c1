import { create } from '@bufbuild/protobuf';
import {
  CreateChannelRequestSchema,
  ListSoraVersionsRequestSchema,
} from '@headset-cloud/proto/communication/v1/service_pb.ts';
import { DomainError } from '@headset-cloud/runtime/errors.ts';
import { describe, expect, test } from '@jest/globals';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const { send, refused } = suite;
const app = '/v1/applications/app-1';
const caller = { clientId: 'client-1', applicationId: 'app-1' };
const message = (text: string) => JSON.parse(text).message as string;

describe('channels', () => {
  const path = `${app}/channels`;
  // proves api/3/channel-request, api/3/channel-response, api/7/channels
  test.each([
    [{}, ''],
    [{ soraVersion: 'x' }, 'x'],
    [{ soraVersion: 'x'.repeat(32) }, 'x'.repeat(32)],
  ])('%j reserves a channel: 201 without Location', async (body, soraVersion) => {
    const answer = await send('POST', path, body);
    expect([answer.status, answer.text, answer.headers['location']]).toEqual([
      201,
      '{"endpointUrl":"wss://sora.test/","channelId":"a1B2c3D4e5_1767225600000"}',
      undefined,
    ]);
    expect(suite.asked('createChannel', CreateChannelRequestSchema)).toEqual(
      create(CreateChannelRequestSchema, { caller, soraVersion }),
    );
  });
  test.each([
    ['no body', {}],
    ['no body, of any type', { 'content-type': 'text/plain', 'content-length': '0' }],
  ])('%s equals {}', async (_, headers) => {
    const key = { 'idempotency-key': 'one' };
    const answer = await suite.gateway.request('POST', path, { headers: { ...headers, ...key } });
    expect(answer.status).toBe(201);
    const left = suite.asked('createChannel', CreateChannelRequestSchema);
    expect(left?.soraVersion).toBe('');
    suite.fakes.seen.length = 0;
    await suite.gateway.request('POST', path, { body: '{}', headers: key });
    expect(suite.asked('createChannel', CreateChannelRequestSchema)).toEqual(left);
  });
  test('a version that the service does not have is an invalid body', async () => {
    suite.fakes.answers.createChannel = async () => {
      throw new DomainError('invalid_body', '/soraVersion "x" is not available.');
    };
    const answer = await send('POST', path, { soraVersion: 'x' });
    expect([answer.status, message(answer.text), answer.headers['x-error-detail']]).toEqual([
      ...[400, 'Invalid request body', '/soraVersion "x" is not available.'],
    ]);
  });
  test('other bodies are rejected', async () => {
    await refused('POST', path, { soraVersion: '' }, '/soraVersion must not be empty.');
    await refused(
      'POST',
      path,
      { soraVersion: 'x'.repeat(33) },
      '/soraVersion must have at most 32 characters.',
    );
    for (const wrong of [null, 1])
      await refused('POST', path, { soraVersion: wrong }, '/soraVersion must be a string.');
    await refused('POST', path, { version: '1' }, '/version is not a known field.');
    await refused('POST', path, [], 'must be an object.');
  });
  test('503 with Retry-After when every endpoint is full', async () => {
    suite.fakes.answers.createChannel = async () => {
      throw new DomainError('unavailable', 'Every endpoint has reached its limit.', { retryAfterMs: 5000 });
    };
    const answer = await send('POST', path, {});
    expect([answer.status, message(answer.text), answer.headers['retry-after']]).toEqual([
      503,
      'Every endpoint has reached its limit.',
      '5',
    ]);
  });
});

// proves api/3/sora-versions, api/7/sora-versions
test('Sora versions keep the order of the service', async () => {
  suite.fakes.answers.listSoraVersions = async () => ({
    versions: [
      { soraVersion: '2025.1.0', isDefault: false },
      { soraVersion: '2024.2.0', isDefault: true },
    ],
  });
  const answer = await send('GET', `${app}/sora/versions`);
  expect([answer.status, answer.text]).toEqual([
    200,
    '{"soraVersions":[{"soraVersion":"2025.1.0","isDefault":false},{"soraVersion":"2024.2.0","isDefault":true}]}',
  ]);
  expect(suite.asked('listSoraVersions', ListSoraVersionsRequestSchema)).toEqual(
    create(ListSoraVersionsRequestSchema, { applicationId: 'app-1' }),
  );
});
