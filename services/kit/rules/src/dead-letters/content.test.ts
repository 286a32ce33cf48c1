import { create, toBinary } from '@bufbuild/protobuf';
import { type LogEvent, topics } from '@headset-cloud/eventlog/types.ts';
import { NotificationEventSchema } from '@headset-cloud/proto/notifier/v1/events_pb.ts';
import { contentOf, headersOf } from './content.ts';

const eventOf = (value: Uint8Array, headers: LogEvent['headers'] = {}): LogEvent => ({
  ...{ topic: topics.notifications, key: 'k', position: '0:1', timestampMs: 1, value, headers },
});
const notification = (body: string) =>
  eventOf(
    toBinary(
      NotificationEventSchema,
      create(NotificationEventSchema, { notificationId: 'n1', body: Buffer.from(body) }),
    ),
  );

test("an event is shown as JSON, with the callback's body readable", () => {
  const shown = JSON.parse(contentOf(notification('{"transactionId":7,"customData":"hello"}')));
  expect(shown).toEqual({ notificationId: 'n1', body: { transactionId: 7, customData: 'hello' } });
});

test.each(Object.values(topics))('an event of the topic %s is decoded', (topic) => {
  expect(contentOf({ ...eventOf(new Uint8Array()), topic })).not.toBe('');
});

// protects against operators/secrets-shown
test('no secret is shown at any depth: keys, secrets, passwords, signed URLs', () => {
  const secrets = {
    authenticationKey: 'S3CRET',
    app: { clientSecret: 'S3CRET', mimiClientSecret: 'S3CRET' },
    wifi: [{ ssid: 'office', password: 'S3CRET', preSharedKey: 'S3CRET' }],
    uploadUrl: 'https://files.example/part?X-Amz-Signature=S3CRET&part=1',
    text: 'loaded from http://a.example/b?token=S3CRET twice',
    accessToken: 'S3CRET',
    endpoint: 'https://user:S3CRET@receiver.example/callbacks',
  };
  const shown = contentOf(notification(JSON.stringify(secrets)));
  expect(shown).not.toContain('S3CRET');
  expect(shown).toContain('https://files.example/part?***');
  expect(shown).toContain('office');
  expect(
    JSON.stringify(headersOf(eventOf(new Uint8Array(), { authorization: 'S3CRET', traceparent: 't' }))),
  ).toBe('{"authorization":"***","traceparent":"t"}');
});

test('an event that cannot be decoded is not shown, because it may contain secrets', () => {
  expect(contentOf(eventOf(Buffer.from('password=S3CRET')))).toBe('');
  expect(contentOf({ ...notification('{}'), topic: 'another' })).toBe('');
  expect(contentOf(notification('authenticationKey=S3CRET'))).not.toContain('S3CRET');
});
