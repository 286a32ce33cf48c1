import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import { promisify } from 'node:util';
import { verifyCallback } from '@headset-cloud/demo/integrator/verify.ts';
import { signatureHeaders } from '@headset-cloud/outbound/signing.ts';
import { missingTools } from '@headset-cloud/tests/support/tools.ts';
import { parse } from 'yaml';
import type { UploadFile } from '../../../services/communication/src/domain/recording.ts';
import { readSignedUrls } from '../../../services/communication/src/domain/signed-urls.ts';
import { notifierConfig } from '../../../services/notifier/src/config.ts';
import { fill, readGuide } from './extract.ts';

// Compares statements of the guides with the OpenAPI documents and the code.

const folder = resolve(import.meta.dirname, '../../content/docs/introduction');
const source = (name: string): string => readFileSync(resolve(folder, `${name}.mdx`), 'utf8');
const contract = (name: string) =>
  parse(readFileSync(resolve(import.meta.dirname, `../../../gateway/openapi/${name}.yaml`), 'utf8'));

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly security?: readonly { oauth2: readonly string[] }[];
}

test('the table of scopes names every call with its scope, title, method and path', () => {
  const paths = contract('cws_api').paths as Record<string, Record<string, Operation>>;
  const expected = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.operationId)
      .map(([method, { operationId, summary, security }]) => {
        const shown = path.replace('/v1/applications/{applicationId}', '…');
        return `${security?.[0]?.oauth2[0]} ${summary} #${operationId} ${method.toUpperCase()} ${shown}`;
      }),
  );
  let scope = '';
  const found: string[] = [];
  for (const line of source('authentication').split('\n')) {
    scope = /^### (cws:\S+) /.exec(line)?.[1] ?? scope;
    const row = /^\| \[(.+)\]\(\/apis\/v1\/cws_api(#\S+)\) \| `(.+)` \|$/.exec(line);
    if (row) found.push(`${scope} ${row[1]} ${row[2]} ${row[3]}`);
  }
  assert.ok(expected.length > 30);
  assert.deepEqual(found.toSorted(), expected.toSorted());
});

test('the table of the extension names every call with its scope, title, method and path', () => {
  const paths = contract('cws_extension').paths as Record<string, Record<string, Operation>>;
  const expected = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation.operationId)
      .map(([method, { operationId, summary, security }]) => {
        const shown = `${method.toUpperCase()} ${path.replace('/v1/applications/{applicationId}', '…')}`;
        return `| [${summary}](/apis/v1/cws_extension#${operationId}) | \`${security?.[0]?.oauth2[0]}\` | \`${shown}\` |`;
      }),
  );
  const found = source('authentication').match(/^\| \[.+\]\(\/apis\/v1\/cws_extension#.+$/gm) ?? [];
  assert.ok(expected.length > 5);
  assert.deepEqual(found.toSorted(), expected.toSorted());
});

test('the guides show the reasons and states of deliveries correctly', () => {
  const { DeliveryAttempt, DeliveryState } = contract('cws_extension').components.schemas;
  const guide = source('../extension/deliveries');
  const firstCells = (table: string): string[] =>
    [...(guide.split(table)[1]?.split('\n\n')[0] ?? '').matchAll(/^\| `([a-z_]+)` \|/gm)].map(
      ([, text = '']) => text,
    );
  const reasons = (DeliveryAttempt.properties.reason.enum as (string | null)[]).filter((one) => one !== null);
  assert.deepEqual(firstCells('| `reason` | 理由 |'), reasons);
  assert.deepEqual(firstCells('| `state` | 意味 |'), DeliveryState.enum);
});

test('the guides show the defaults of the extension correctly', () => {
  const {
    NOTIFIER_RECOVER_LIMIT: most,
    NOTIFIER_RECOVER_PER_SECOND: perSecond,
    NOTIFIER_KEEP_DELIVERED_DAYS: delivered,
    NOTIFIER_KEEP_DEAD_DAYS: dead,
  } = notifierConfig;
  const pages = { deliveries: source('../extension/deliveries'), events: source('../extension/events') };
  const documented = (page: keyof typeof pages, form: RegExp): string => form.exec(pages[page])?.[1] ?? '';
  assert.deepEqual(
    {
      most: documented('deliveries', /^\| 1 回で再送する通知 \| (\d+) 件/m),
      perSecond: documented('deliveries', /^\| 再送する速さ \| 1 秒に (\d+) 件/m),
      delivered: documented('deliveries', /置き換えられた通知では (\d+) 日/),
      dead: documented('deliveries', /受信されないまま終わった通知では (\d+) 日/),
      events: documented('events', /イベントは、通知の送信が終わってから (\d+) 日間/),
    },
    Object.fromEntries(
      Object.entries({ most, perSecond, delivered, dead, events: delivered }).map(([name, key]) => [
        name,
        String(key.default),
      ]),
    ),
  );
});

describe('the test vector', () => {
  const guide = source('preparation');
  const [head = '', body = ''] = (
    /```http title="テストベクター"\n([\s\S]*?)\n```/.exec(guide)?.[1] ?? ''
  ).split('\n\n');
  const headers = Object.fromEntries(
    head
      .split('\n')
      .slice(1)
      .map((line) => line.split(/: (.*)/s).slice(0, 2)),
  );
  const key = /認証キーは `([^`]+)`/.exec(guide)?.[1] ?? '';

  test('has the signatures that the platform computes', () => {
    const { 'Content-Type': type, applicationId, ...signed } = headers;
    const expected = signatureHeaders({
      notificationId: headers['webhook-id'] ?? '',
      authenticationKey: key,
      body: Buffer.from(body),
      timestampSeconds: Number(headers['webhook-timestamp']),
    });
    assert.deepEqual(
      { type, applicationId, ...signed },
      { type: 'application/json', applicationId: 'app-1', ...expected },
    );
  });
  test('has the length in the text', () => {
    assert.match(guide, new RegExp(`改行のない ${Buffer.byteLength(body)} バイト`));
  });
  test('is used by the samples', () => {
    const samples = readGuide('preparation.mdx', guide).samples.filter(({ name }) => name === 'vector');
    for (const { code } of samples) {
      for (const part of [key, body, headers['X-TLPF-NOTIFICATION-KEY'], headers['webhook-signature']]) {
        assert.ok(part && code.includes(part));
      }
    }
  });
});

test('the tutorial uses the verification functions of the preparation page', () => {
  const code = (page: string, sample: string, language: string): string => {
    const { samples } = readGuide(page, source(page));
    return samples.find((one) => one.name === sample && one.language === language)?.code ?? '';
  };
  const explained = {
    js: /function same[\s\S]*?\n}\n|function verifyCallback[\s\S]*?\n}$/gm,
    python: /^def verify_callback[\s\S]*?\n {4}return False$/gm,
  };
  for (const [language, functions] of Object.entries(explained)) {
    const found = code('preparation', 'verify-function', language).match(functions) ?? [];
    assert.equal(found.length, language === 'js' ? 2 : 1);
    for (const text of found) {
      const bare = text.replace(/\n {4}""".*"""/, '');
      assert.ok(
        code('tutorial', 'receiver', language).includes(bare),
        `${language}: the tutorial has another function`,
      );
    }
  }
});

test('the guides show the reasons of cancellations correctly', () => {
  const reasons = contract('cws_notification').components.schemas.TransactionCanceled.properties.message
    .enum as string[];
  const shown = [...source('about').matchAll(/^\| `(The transaction was canceled [^`]+)` \|/gm)].map(
    ([, text]) => text,
  );
  assert.deepEqual(shown.toSorted(), reasons.toSorted());
});

describe('recordings', () => {
  const { webhooks } = contract('cws_presigned_url');
  const example =
    webhooks.soraRecGetMultiPresignedUrl.post.requestBody.content['application/json'].examples.request.value;
  const guide = source('sora');

  test('the request in the guide is the one in the OpenAPI document', () => {
    const shown = /```json title="要求の本文"\n([\s\S]*?)\n```/.exec(guide)?.[1] ?? '';
    assert.deepEqual(JSON.parse(shown), example);
  });
  test('the platform accepts the response in the guide', () => {
    const { metaFile, connections } = example.channel;
    const files = [
      { file: metaFile, splitted: 0 },
      ...connections.flatMap((one: { jsonFile: string; webmFile: { file: string; splitted: number } }) => [
        { file: one.jsonFile, splitted: 0 },
        one.webmFile,
      ]),
    ] as UploadFile[];
    const shown = JSON.parse(readGuide('sora.mdx', guide).outputs.get('signed-urls')?.text ?? '');
    assert.deepEqual(readSignedUrls(shown, files), { urls: shown });
    assert.ok('problem' in readSignedUrls({ ...shown, [metaFile]: undefined }, files));
  });
  test('the test request in the guide has a valid signature', {
    skip: missingTools('curl', 'openssl') ?? false,
  }, async (t) => {
    const key = '3q2-7wAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA';
    const arrived = Promise.withResolvers<{ headers: IncomingMessage['headers']; rawBody: Buffer }>();
    const server = createServer(async (request, response) => {
      const rawBody = await buffer(request);
      arrived.resolve({ headers: request.headers, rawBody });
      response.end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    const { samples } = readGuide('sora.mdx', guide);
    const tried = samples.find(({ name, language }) => name === 'signed-urls' && language === 'bash');
    const integratorUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/urls`;
    const values = { integratorUrl, applicationId: 'app-1', authenticationKey: key };
    await promisify(execFile)('bash', ['-euc', fill(tried?.code ?? '', values)]);
    const { headers, rawBody } = await arrived.promise;
    assert.ok(verifyCallback({ headers, rawBody }, [key]));
    assert.equal(headers['applicationid'], 'app-1');
    assert.deepEqual(JSON.parse(rawBody.toString()), example);
  });
  test('the completion in the guide has the parts of the notification in the OpenAPI document', () => {
    const { multipart } =
      contract('cws_notification').webhooks.recording.post.requestBody.content['application/json'].examples;
    const { file, uploadId, parts } = multipart.value.channel.connections[0].webmFile;
    const shown = JSON.parse(readGuide('sora.mdx', guide).outputs.get('completion')?.text ?? '');
    assert.deepEqual(shown, {
      Bucket: 'recordings',
      Key: file,
      UploadId: uploadId,
      MultipartUpload: {
        Parts: parts.map((ETag: string, index: number) => ({ PartNumber: index + 1, ETag })),
      },
    });
  });
});
