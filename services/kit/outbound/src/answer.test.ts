import { createHmac } from 'node:crypto';
import { beginning, maskedBeginning, readBytes, secretsIn } from './answer.ts';

const signature = createHmac('sha256', 'k').update('7').digest('base64');
const key = 'the key of an application+/="';
const never = new Promise<never>(() => {});

async function* parts(...texts: string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

// protects against callbacks/answer-secrets, callbacks/test-secrets
test.each<[string, (secret: string) => string]>([
  ['as it is', (secret) => secret],
  ['in other case', (secret) => secret.toUpperCase()],
  ['as JSON with escaped slashes', (secret) => JSON.stringify(secret).slice(1, -1).replaceAll('/', '\\/')],
  ['as JSON of .NET', (secret) => secret.replace(/[+"/=]/g, (c) => `\\u00${hexOf(c).toUpperCase()}`)],
  ['as a form', encodeURIComponent],
  ['as a form with small letters', (secret) => encodeURIComponent(secret).toLowerCase()],
  ['as HTML', (secret) => secret.replace(/[+"/=]/g, (c) => `&#${c.charCodeAt(0)};`)],
  ['as HTML of Python', (secret) => secret.replace(/[+"/=]/g, (c) => `&#x${hexOf(c)};`)],
])('a secret %s is masked, also at the cut and alone in front of it', (_, write) => {
  expect(signature).toMatch(/[+/].*=$/);
  for (const secret of [signature, key]) {
    const written = write(secret);
    const shown = maskedBeginning(Buffer.from(`<${written}|${written}>`), [secret]);
    expect(shown.answer).toBe(`<${'*'.repeat(written.length)}|${'*'.repeat(written.length)}>`);
    const cut = maskedBeginning(Buffer.from('x'.repeat(1004) + written.repeat(2)), [secret]);
    expect(cut).toEqual({ answer: 'x'.repeat(1004) + '*'.repeat(20), answerCut: true });
  }
});

const hexOf = (character: string) => character.charCodeAt(0).toString(16).padStart(2, '0');

test('secretsIn returns signatures and credentials of headers, each with its parts, and nothing else', () => {
  const found = secretsIn({
    'content-type': 'application/json',
    'webhook-id': 'tx-1-accepted',
    'webhook-signature': 'v1,AAAA v1,BBBB',
    'X-TLPF-NOTIFICATION-KEY': 'cccc',
    authorization: 'Basic DDDD',
  });
  expect(found).toEqual(expect.arrayContaining(['AAAA', 'BBBB', 'cccc', 'DDDD']));
  expect(found.join()).not.toMatch(/json|accepted/);
  expect(maskedBeginning(Buffer.from('v1, Basic, short'), ['v1', 'Basic', 'short']).answer).toBe(
    'v1, Basic, short',
  );
});

test('shows the received part of an answer up to 1 KiB, in whole characters', async () => {
  expect(maskedBeginning(Buffer.from(`ab${'写'.repeat(1000)}`), [])).toEqual({
    answer: `ab${'写'.repeat(340)}`,
    answerCut: true,
  });
  expect(maskedBeginning(Buffer.from('x'.repeat(1024)), [])).toMatchObject({ answerCut: false });
  expect(await beginning(parts('one ', 'two'), [], never)).toEqual({ answer: 'one two', answerCut: false });
  const broken = (async function* () {
    yield Buffer.from('begun');
    throw new Error('broken off');
  })();
  expect(await beginning(broken, [], never)).toEqual({ answer: 'begun', answerCut: false });
  const silent = (async function* () {
    yield Buffer.from('begun');
    await never;
  })();
  const passed = new Promise<never>((_, reject) => setImmediate(reject, new Error('passed')));
  expect(await beginning(silent, [], passed)).toEqual({ answer: 'begun', answerCut: false });
  const large = await beginning(parts('x'.repeat(1000), key, 'y'.repeat(10 * readBytes)), [key], never);
  expect(large).toEqual({ answer: 'x'.repeat(1000) + '*'.repeat(24), answerCut: true });
});
