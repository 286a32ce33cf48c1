import { createHmac } from 'node:crypto';
import { verifyCallback } from './verify.ts';

const key = 'a key';
const now = 1_700_000_000;
const rawBody = Buffer.from('{"text":"日本語"}');

function signed(with_: string, timestamp = now) {
  return {
    'webhook-id': 'n-1',
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${createHmac('sha256', with_).update(`n-1.${timestamp}.`).update(rawBody).digest('base64')}`,
    'x-tlpf-notification-key': createHmac('sha256', with_).update(rawBody).digest('hex'),
  };
}

test('a callback with both signatures of a known key is accepted', () => {
  expect(verifyCallback({ headers: signed(key), rawBody }, ['older', key], now)).toBe(true);
});

// protects against callbacks/forged, callbacks/replayed
test.each([
  ['another key', { headers: signed('other'), rawBody }],
  ['a changed body', { headers: signed(key), rawBody: Buffer.from('{}') }],
  ['an old timestamp', { headers: signed(key, now - 301), rawBody }],
  ['a timestamp in the future', { headers: signed(key, now + 301), rawBody }],
  ['no standard signature', { headers: { ...signed(key), 'webhook-signature': '' }, rawBody }],
  ['no notification key', { headers: { ...signed(key), 'x-tlpf-notification-key': undefined }, rawBody }],
  ['no id', { headers: { ...signed(key), 'webhook-id': undefined }, rawBody }],
  ['another id', { headers: { ...signed(key), 'webhook-id': 'n-2' }, rawBody }],
])('a callback with %s is rejected', (_, callback) => {
  expect(verifyCallback(callback, [key], now)).toBe(false);
});
