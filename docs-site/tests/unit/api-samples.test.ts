import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import {
  jsonBody,
  linksIn,
  loadBundled,
  oneCall,
  openapi,
  realApis,
  render,
  renderReal,
  textOf,
} from './api-support.ts';

const { compareSignatures, sign } = await loadBundled<typeof import('../../src/behaviour/signature.ts')>(
  'src/behaviour/signature.ts',
);

interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body?: string;
}
/** Header with a random value in each run of a sample, so only its format is compared. */
const keyHeader = 'Idempotency-Key';
const withoutKey = ({ headers }: Sent): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name !== keyHeader));
type Page = Awaited<ReturnType<typeof renderReal>>;

/** Samples of all calls of a page in one language. */
const samples = ({ dom }: Page, language: string): string[] =>
  dom.elements
    .filter((one) => one.attribs['class'] === 'tabs__panel' && one.attribs['data-language'] === language)
    .map((panel) => {
      const code = dom.elements.find(
        (one) => one.name === 'code' && one.parent && (one.parent.parent?.parent?.parent ?? null) === panel,
      );
      assert.ok(code);
      return textOf(code);
    });

/** Runs a Node sample with a `fetch` that only records the request. */
async function runNode(code: string): Promise<Sent> {
  let sent: Sent | undefined;
  const fetch = async (url: string, { method = 'GET', headers = {}, body }: Partial<Sent> = {}) => {
    sent = { method, url, headers, ...(body === undefined ? {} : { body }) };
    return { status: 200, text: async () => '' };
  };
  const AsyncFunction = (async () => undefined).constructor as new (
    ...args: string[]
  ) => (...args: unknown[]) => Promise<void>;
  await new AsyncFunction('fetch', 'process', 'console', code)(
    fetch,
    { env: { TOKEN: 'token-1' } },
    { log: () => undefined },
  );
  assert.ok(sent, code);
  return sent;
}

/** Shell function that replaces openssl, which generates keys, on machines without openssl. */
const openssl = findProgram('openssl') ? '' : "openssl() { od -An -N16 -tx1 /dev/urandom | tr -d ' \\n'; }\n";

/** Runs curl samples in one shell, in which curl is a function that prints its arguments. */
function runCurl(codes: readonly string[]): Sent[] {
  const script = `TOKEN=token-1\n${openssl}curl() { printf '%s\\0' "$@"; printf '\\1'; }\n${codes.join('\n')}\n`;
  const { error, stdout, status, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
  assert.equal(status, 0, error?.message ?? stderr);
  return stdout
    .split('\x01')
    .slice(0, -1)
    .map((one) => {
      const words = one.split('\0').slice(0, -1);
      const sent = {
        method: 'GET',
        url: '',
        headers: {} as Record<string, string>,
        body: undefined as string | undefined,
      };
      for (let index = 0; index < words.length; index++) {
        const word = words[index] ?? '';
        const [name = '', value = ''] = (words[index + 1] ?? '').split(/: (.*)/s);
        if (word === '-i') continue;
        if (word === '-X') sent.method = words[++index] ?? '';
        else if (word === '-d') sent.body = words[++index] ?? '';
        else if (word === '-H') {
          sent.headers[name] = value;
          index++;
        } else sent.url = word;
      }
      return sent;
    });
}

const python = ['python3', 'python'].find((name) => findProgram(name));
if (!python) orDemanded('python3 not on PATH');
const runner = `
import json, sys, types, os
os.environ['TOKEN'] = 'token-1'
sent = []
class Answer:
    status_code = 200
    text = ''
def call(method):
    def send(url, headers=None, json=None, timeout=None):
        sent.append({'method': method.upper(), 'url': url, 'headers': headers or {}, 'json': json, 'timeout': timeout})
        return Answer()
    return send
sys.modules['requests'] = types.SimpleNamespace(**{m: call(m) for m in ['get', 'put', 'post', 'patch', 'delete']})
out, sys.stdout = sys.stdout, open(os.devnull, 'w')
for code in json.load(sys.stdin):
    exec(code, {})
json.dump(sent, out)
`;

test('the curl and Node samples of a call send the same request, with the example of the document', async () => {
  const page = await renderReal('cws_api');
  const [curls, nodes] = [samples(page, 'bash'), samples(page, 'js')];
  assert.equal(curls.length, 34);
  const sent = runCurl(curls);
  for (const [index, one] of sent.entries()) {
    const other = await runNode(nodes[index] ?? '');
    assert.equal(other.url, one.url);
    assert.equal(other.method, one.method);
    assert.deepEqual(withoutKey(other), withoutKey(one));
    assert.equal(other.headers[keyHeader] === undefined, one.headers[keyHeader] === undefined);
    assert.equal(one.headers['Authorization'], 'Bearer token-1');
    assert.match(one.url, /^https:\/\/api\.headset-cloud\.example\/v1\/[^{}\s]+$/);
    // Compares the JSON text, because numbers must have the same text.
    const compact = (text: string | undefined) => text?.replace(/\s+/g, '');
    assert.equal(compact(other.body), compact(one.body));
    if (one.body) JSON.parse(one.body);
  }
  assert.ok(sent.some((one) => one.body?.includes('9007199254740993')));
  assert.ok(sent.filter((one) => one.body).length >= 14);
});

test('only samples of calls that accept an Idempotency-Key send one, with a random value', async () => {
  const page = await renderReal('cws_api');
  const document = readFileSync(resolve(openapi, 'cws_api.yaml'), 'utf8');
  const takers = document.split('$ref: "#/components/parameters/IdempotencyKey"').length - 1;
  assert.ok(takers >= 20);
  const keysOf = (all: readonly Sent[]) => all.flatMap((one) => one.headers[keyHeader] ?? []);
  const shell = keysOf(runCurl(samples(page, 'bash')));
  const node = keysOf(await Promise.all(samples(page, 'js').map(runNode)));
  for (const keys of [shell, node]) {
    assert.ok(keys.every((one) => /^[0-9a-f-]{32,36}$/.test(one)));
    assert.equal(new Set(keys).size, takers);
  }
});

test('the Python sample of a call sends the same request', {
  skip: python ? false : 'no Python here',
}, async () => {
  const page = await renderReal('cws_api');
  const codes = samples(page, 'python');
  const { stdout, status, stderr } = spawnSync(python ?? '', ['-c', runner], {
    input: JSON.stringify(codes),
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  const sent = JSON.parse(stdout) as {
    method: string;
    url: string;
    headers: Record<string, string>;
    json: unknown;
    timeout: number;
  }[];
  const curls = runCurl(samples(page, 'bash'));
  assert.equal(sent.length, 34);
  for (const [index, one] of sent.entries()) {
    const curl = curls[index];
    assert.equal(one.url, curl?.url);
    assert.equal(one.method, curl?.method);
    assert.equal(one.headers['Authorization'], 'Bearer token-1');
    assert.equal(one.headers[keyHeader] === undefined, curl?.headers[keyHeader] === undefined);
    assert.deepEqual(one.json, curl?.body === undefined ? null : JSON.parse(curl.body));
    assert.ok(one.timeout > 0);
  }
});

test('quotes, backslashes, template marks and placeholders in examples reach the server unchanged', async () => {
  const value = {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: text of an example
    "it's": 'a\\b "c" $HOME `id` ${x} {{foo}} {{apiUrl}}\n日本',
    né: [] as unknown[],
    empty: {},
    yes: true,
    no: null,
    list: [[1], {}],
  };
  const page = render({
    route: '/apis/v1/cws_api',
    document: oneCall(jsonBody({ type: 'object' }, { example: value })),
  });
  const [curl] = runCurl(samples(page, 'bash'));
  assert.deepEqual(JSON.parse(curl?.body ?? ''), value);
  const node = await runNode(samples(page, 'js')[0] ?? '');
  assert.deepEqual(JSON.parse(node.body ?? ''), value);
  if (!python) return;
  const { stdout, stderr } = spawnSync(python, ['-c', runner], {
    input: JSON.stringify(samples(page, 'python')),
    encoding: 'utf8',
  });
  assert.deepEqual((JSON.parse(stdout || stderr) as { json: unknown }[])[0]?.json, value);
});

test('reader values are placeholders in the samples', async () => {
  const { dom } = await renderReal('cws_api');
  const names = new Set(dom.elements.flatMap((one) => one.attribs['data-value'] ?? []));
  assert.deepEqual([...names].sort(), ['apiUrl', 'applicationId', 'deviceId', 'integratorUrl']);
});

test('the sample of a callback is signed over the shown body, with the key of the test vector', async () => {
  const { dom } = await renderReal('cws_notification');
  const form = dom.elements.find((one) => 'data-signature' in one.attribs);
  const vector = JSON.parse(form?.attribs['data-vector'] ?? '') as {
    key: string;
    id: string;
    timestamp: string;
    body: string;
  };
  const blocks = dom.elements
    .filter((one) => one.name === 'code')
    .map(textOf)
    .filter((one) => one.startsWith('POST /'));
  assert.equal(blocks.length, 25);
  for (const block of blocks) {
    const [head = '', body = ''] = block.split(/\n\n(.*)/s);
    const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(head)?.[1] ?? '';
    assert.equal(
      header('X-TLPF-NOTIFICATION-KEY'),
      createHmac('sha256', vector.key).update(body).digest('hex'),
    );
    const signed = `${header('webhook-id')}.${header('webhook-timestamp')}.${body}`;
    assert.equal(
      header('webhook-signature'),
      `v1,${createHmac('sha256', vector.key).update(signed).digest('base64')}`,
    );
  }
  const text = textOf(dom.elements.find((one) => one.attribs['class'] === 'api-vector'));
  const { simple, standard } = await sign(vector);
  assert.ok(text.includes(simple) && text.includes(standard) && text.includes(vector.body));
});

test('the calculator in the browser computes the same signatures as the platform', async () => {
  // Computed by openssl: printf '%s' '{"hello":"世界"}' | openssl dgst -sha256 -hmac test-key
  const input = { key: 'test-key', id: 'msg_1', timestamp: '1700000000', body: '{"hello":"世界"}' };
  const result = await sign(input);
  assert.deepEqual(result, {
    simple: '71a0892b23b2cc958a1693ecde371fa464ea8408053f8b5e6db3ec2530e7f774',
    standard: 'v1,AXhrvpjfAkAsdE8W8Ow3bHTNHo6q24SlJkWy33LXWDw=',
  });
  assert.equal(compareSignatures(` v1,other ${result.standard}`, result), 'matches');
  assert.equal(compareSignatures(result.simple, result), 'matches');
  assert.equal(compareSignatures(result.simple.replace('7', '8'), result), 'differs');
  assert.equal(compareSignatures('', { ...result, standard: '' }), 'differs');
  assert.equal(compareSignatures(` other ${result.simple.toUpperCase()}`, result), 'capitals');
  assert.equal(compareSignatures(result.standard.toUpperCase(), result), 'differs');
  assert.equal((await sign({ ...input, id: '' })).standard, '');
});

test('the calculator signs unchanged bytes and an empty body', async () => {
  for (const body of [Uint8Array.of(0x7b, 0x0d, 0x0a, 0xff, 0xfe, 0x7d), new Uint8Array()]) {
    const { simple, standard } = await sign({ key: 'k', id: 'i', timestamp: '1', body });
    assert.equal(simple, createHmac('sha256', 'k').update(body).digest('hex'));
    assert.equal(standard, `v1,${createHmac('sha256', 'k').update('i.1.').update(body).digest('base64')}`);
  }
});

test('a setting that a callback names links to the field that registers it', async () => {
  await realApis();
  const { dom } = await renderReal('cws_presigned_url');
  const section = dom.elements.find(
    (one) => one.attribs['aria-labelledby'] === 'sora-rec-get-multi-presigned-url',
  );
  assert.ok(
    linksIn(section).includes('/apis/v1/cws_api#patch-v1-applications.request.soraRecGetMultiPresignedUrl'),
  );
});
