import { signatureHeaders } from './signing.ts';

test('the signatures are those that openssl computes', () => {
  // printf '%s' '{"hello":"世界"}' | openssl dgst -sha256 -hmac test-key
  // printf '%s' 'msg_1.1700000000.{"hello":"世界"}' | openssl dgst -sha256 -hmac test-key -binary | base64
  expect(
    signatureHeaders({
      notificationId: 'msg_1',
      authenticationKey: 'test-key',
      body: Buffer.from('{"hello":"世界"}'),
      timestampSeconds: 1_700_000_000,
    }),
  ).toEqual({
    'X-TLPF-NOTIFICATION-KEY': '71a0892b23b2cc958a1693ecde371fa464ea8408053f8b5e6db3ec2530e7f774',
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1700000000',
    'webhook-signature': 'v1,AXhrvpjfAkAsdE8W8Ow3bHTNHo6q24SlJkWy33LXWDw=',
  });
});
