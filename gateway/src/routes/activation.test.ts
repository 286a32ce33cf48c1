import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { deviceId } from '../testing/fakes.ts';
import { useGateway } from '../testing/suite.ts';

const suite = useGateway();
const app = '/v1/applications/app-1';
const device = `${app}/devices/${deviceId}`;
const asked = (rpc: string) =>
  suite.gateway.fakes.seen.find((s) => s.rpc === rpc)?.request as Record<string, unknown>;

describe('activation', () => {
  // proves api/3/activation-status, api/7/get-activation
  test('reads an activated device and a device that was never activated', async () => {
    expect(JSON.parse((await suite.gateway.request('GET', device)).text)).toEqual({
      deviceId,
      activated: true,
      clientId: 'client-9',
      status: 'activated',
    });
    suite.gateway.fakes.answers.getActivation = async () => ({ deviceId, activated: false });
    expect(JSON.parse((await suite.gateway.request('GET', device)).text)).toEqual({
      deviceId,
      activated: false,
      clientId: null,
      status: 'deactivated',
    });
  });

  // proves api/3/activation-clientId, api/3/activation-mimi, api/7/activate
  test.each([
    [{ clientId: 'c' }, { clientId: 'c', clientSecret: '' }],
    [{ clientId: 'x'.repeat(255) }, { clientId: 'x'.repeat(255) }],
    [{ mimiClientId: 'm' }, { clientId: 'm', clientSecret: '' }],
    [
      { mimiClientId: 'm', mimiClientSecret: 's'.repeat(255) },
      { clientId: 'm', clientSecret: 's'.repeat(255) },
    ],
  ])('%j activates', async (body, expected) => {
    const answer = await suite.gateway.request('POST', device, { body: JSON.stringify(body) });
    expect([answer.status, answer.headers['location']]).toEqual([201, `${app}/transactions/101`]);
    expect(asked('activateDevice')).toMatchObject({ deviceId, ...expected });
  });

  const oneForm = 'The body must have exactly one of its documented forms.';
  test.each<[unknown, string]>([
    [{}, 'One of clientId, mimiClientId is required.'],
    [{ clientId: '' }, '/clientId must not be empty.'],
    [{ clientId: 'x'.repeat(256) }, '/clientId must have at most 255 characters.'],
    [{ clientId: null }, '/clientId must be a string.'],
    [{ clientId: 'c', mimiClientId: 'm' }, oneForm],
    [{ clientId: 'c', mimiClientSecret: 's' }, oneForm],
    [{ mimiClientSecret: 's' }, 'One of clientId, mimiClientId is required.'],
    [{ mimiClientId: 'm', mimiClientSecret: '' }, '/mimiClientSecret must not be empty.'],
    [
      { mimiClientId: 'm', mimiClientSecret: 's'.repeat(256) },
      '/mimiClientSecret must have at most 255 characters.',
    ],
    [{ clientId: 'c', other: 1 }, '/other is not a known field.'],
    [{ mimiClientId: 'm', 'a/b': 1 }, '/a~1b is not a known field.'],
    [[], 'must be an object.'],
    ['text', 'must be an object.'],
  ])('%j is 400 with location and reason', async (body, detail) => {
    const answer = await suite.gateway.request('POST', device, { body: JSON.stringify(body) });
    expect([answer.status, answer.text]).toEqual([400, '{"message":"Invalid request body"}']);
    expect(answer.headers['x-error-detail']).toBe(detail);
    expect(asked('activateDevice')).toBeUndefined();
  });

  // proves api/7/deactivate
  test('deactivation returns its transaction; an Idempotency-Key is tied to the received bytes', async () => {
    const answer = await suite.gateway.request('DELETE', device, { headers: { 'idempotency-key': 'k' } });
    expect([answer.status, answer.text]).toEqual([201, '{"transactionId":102}']);
    expect(asked('deactivateDevice')).toMatchObject({
      caller: {
        idempotency: { key: 'k', method: 'DELETE', path: device, bodySha256: createHash('sha256').digest() },
      },
    });
  });
});
