import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import { checkSignatures } from './check-signatures.ts';
import { parseStored } from './stored-callback.ts';

const sent = '{"name":"世界","n":1}';
const timestampSeconds = 1_700_000_000;
const nowMs = timestampSeconds * 1000 + 2000;
const app = { key: 'a key', whose: "the application's key" };
const own = { key: 'hc_own', whose: "hc's own key" };

function signed(key = app.key, body = sent) {
  const headers = signatureHeaders({
    ...{ notificationId: 'n-1', authenticationKey: key, body: Buffer.from(body), timestampSeconds },
  });
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const checked = (
  headers: Record<string, string | undefined>,
  body = sent,
  more: { at?: number; sent?: string } = {},
) =>
  checkSignatures(
    { headers: headers as Record<string, string>, body: Buffer.from(body) },
    [app, own],
    more.at ?? nowMs,
    more.sent,
  );

test('an unchanged callback is valid, and the owner of its key is reported', () => {
  expect(checked(signed())).toMatchObject({
    problems: [],
    isInTime: true,
    signedWith: "the application's key",
  });
  expect(checked(signed(own.key))).toMatchObject({ problems: [], signedWith: "hc's own key" });
  const several = { ...signed(), 'webhook-signature': `v1,b3RoZXI= ${signed()['webhook-signature']}` };
  expect(checked(several).problems).toEqual([]);
});

test.each([
  ['a line break was added at its end', `${sent}\n`],
  ['it was parsed and written again', JSON.stringify(JSON.parse(sent), null, 2)],
  ['a byte order mark was added before it', `\ufeff${sent}`],
  ['its characters were escaped', '{"name":"\\u4e16\\u754c","n":1}'],
  ['its characters were read as Latin-1, not as UTF-8', Buffer.from(sent).toString('latin1')],
])('a changed body is distinguished from another key: %s', (change, body) => {
  const { problems, signatures } = checked(signed(), body);
  expect(problems).toEqual([expect.stringContaining(`The body was changed: ${change}`)]);
  expect(signatures.map(({ isRight }) => isRight)).toEqual([false, false]);
});

test('with the sent body, another key is distinguished from any change of the body', () => {
  expect(checked(signed('another'), sent, { sent }).problems).toEqual([
    expect.stringMatching(/^The body is unchanged, so the key differs/),
  ]);
  expect(checked(signed(), sent.replace('1', '2'), { sent }).problems).toEqual([
    'The body was changed: it differs from the sent body from byte 22 on.',
  ]);
  expect(checked(signed('another')).problems).toEqual([
    expect.stringMatching(/the key differs .* or the body was changed/),
  ]);
});

test.each([
  ['webhook-id', 'n-2'],
  ['webhook-timestamp', String(timestampSeconds + 1)],
  ['webhook-signature', 'v1,AAAA'],
])('a changed %s is distinguished from a changed body', (name, value) => {
  const { problems, signatures } = checked({ ...signed(), [name]: value });
  expect(problems).toEqual([
    expect.stringMatching(/^Body and key are right, so webhook-id, webhook-timestamp or/),
  ]);
  expect(signatures.map(({ isRight }) => isRight)).toEqual([true, false]);
});

test('a wrong X-TLPF-NOTIFICATION-KEY with a correct signature is reported', () => {
  const headers = signed();
  const key = headers['x-tlpf-notification-key']?.toUpperCase();
  expect(checked({ ...headers, 'x-tlpf-notification-key': key }).problems).toEqual([
    expect.stringMatching(/^Body and key are right, so X-TLPF-NOTIFICATION-KEY was changed/),
  ]);
});

test.each(['webhook-id', 'webhook-timestamp', 'webhook-signature', 'x-tlpf-notification-key'])(
  'a missing %s is reported',
  (name) => {
    const { problems } = checked({ ...signed(), [name]: undefined });
    expect(problems).toEqual([expect.stringMatching(new RegExp(`^The header ${name} is missing`, 'i'))]);
  },
);

test.each([
  [301, /^It was signed 5 min before it was received/],
  [7 * 3600, /^It was signed 7 h before it was received/],
  [-301, /^It was signed 5 min after it was received/],
])('a time that is off by %i s is reported, although the signatures are correct', (seconds, problem) => {
  const report = checked(signed(), sent, { at: (timestampSeconds + seconds) * 1000 });
  expect(report).toMatchObject({ isInTime: false, problems: [expect.stringMatching(problem)] });
  expect(report.signatures.map(({ isRight }) => isRight)).toEqual([true, true]);
});

describe('a stored callback', () => {
  const headerLines = (gap: string) =>
    Object.entries(signed())
      .map(([name, value]) => `${name}: ${value}${gap}`)
      .join('');

  test.each([
    ['a request', `POST /callbacks HTTP/1.1\r\n${headerLines('\r\n')}\r\n${sent}`],
    ['headers and body with line breaks of Unix', `${headerLines('\n')}\n${sent}`],
    ['JSON with a text', JSON.stringify({ headers: signed(), body: sent })],
    [
      'JSON with headers as Node has them',
      JSON.stringify({ headers: { ...signed(), 'Webhook-Id': ['n-1'] }, rawBody: sent }),
    ],
    [
      'JSON with bytes',
      JSON.stringify({ headers: signed(), bodyBase64: Buffer.from(sent).toString('base64') }),
    ],
  ])('is read from %s', (_, text) => {
    const stored = parseStored(Buffer.from(text));
    expect(stored.body.toString()).toBe(sent);
    expect(checkSignatures(stored, [app], nowMs).problems).toEqual([]);
  });

  test('contains the time of receipt', () => {
    const text = JSON.stringify({ headers: signed(), body: sent, receivedAt: new Date(nowMs).toISOString() });
    expect(parseStored(Buffer.from(text)).receivedAtMs).toBe(nowMs);
  });

  test.each([
    ['a body that was parsed', '{"headers":{},"body":{"a":1}}', /a body that was parsed cannot be verified/],
    ['no headers', '{"body":"{}"}', /it has no "headers"/],
    ['no empty line', 'POST / HTTP/1.1\r\nwebhook-id: x', /no empty line/],
    ['something else', 'hello world\n\nbody', /"hello world" is not a header/],
    ['broken JSON', '{"headers":', /it is not JSON/],
  ])('with %s is rejected with the reason', (_, text, reason) => {
    expect(() => parseStored(Buffer.from(text))).toThrow(reason);
  });
});
