import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { test } from 'node:test';
import { type Received, startIntegrator } from '@headset-cloud/demo/integrator/server.ts';
import { SoraSimulator } from '@headset-cloud/demo/sora/simulator.ts';
import { startStorage } from '@headset-cloud/demo/sora/storage.ts';
import type { Guide } from './extract.ts';
import { callsOf, type Platform } from './platform.ts';

// Runs the functions of the guide for recordings with a recording that the platform uploads.

type Language = 'js' | 'python';

/** Replacement of the storage placeholder in the guide, where readers use the library of their storage. */
const storages: Readonly<Record<Language, { shown: RegExp; own: string; loop: string; file: string }>> = {
  js: {
    file: 'recordings.mjs',
    shown: /^const storage = \{[\s\S]*?^\};$/m,
    own: `
const at = (file, query) => \`\${process.env.STORAGE}/\${encodeURIComponent(file)}\${query}\`;
let uploads = 0;
const storage = {
  createUpload: async () => \`upload-\${++uploads}\`,
  putUrl: async (file) => at(file, ''),
  partUrl: async (file, uploadId, part) => at(file, \`?uploadId=\${uploadId}&partNumber=\${part}\`),
};`,
    loop: `
import { createInterface } from 'node:readline';
for await (const line of createInterface({ input: process.stdin })) {
  const body = JSON.parse(line);
  const answer = body.timestamp ? completions(body) : await signedUrls(body);
  process.stdout.write('>' + JSON.stringify(answer) + '\\n');
}`,
  },
  python: {
    file: 'recordings.py',
    shown: /^class Storage:[\s\S]*?^storage = Storage\(\)$/m,
    own: `
import json, os, sys, urllib.parse


class Storage:
    uploads = 0

    def at(self, file, query):
        return os.environ['STORAGE'] + '/' + urllib.parse.quote(file, safe='') + query

    def create_upload(self, file):
        self.uploads += 1
        return f'upload-{self.uploads}'

    def put_url(self, file):
        return self.at(file, '')

    def part_url(self, file, upload_id, part):
        return self.at(file, f'?uploadId={upload_id}&partNumber={part}')


storage = Storage()`,
    loop: `
for line in sys.stdin:
    body = json.loads(line)
    answer = completions(body) if 'timestamp' in body else signed_urls(body['channel'])
    print('>' + json.dumps(answer), flush=True)
`,
  },
};

/** Larger than one part of 10 MiB. */
const webmBytes = 11 * 1024 * 1024;
const timeoutMs = 300_000;

export function testRecordings(platform: Platform, guide: Guide, language: Language, python: string): void {
  const name = `${guide.file}: a recording is uploaded to the URLs of the guide's function, and completed (${language})`;
  test(name, { timeout: timeoutMs }, async (t) => {
    const values = await platform.renew();
    const storage = await startStorage();
    t.after(() => storage.close());
    storage.keys.push(values['authenticationKey'] ?? '');
    const notified = Promise.withResolvers<Received>();
    const integrator = await startIntegrator({
      keys: storage.keys,
      onArrival: (arrival) => arrival.verified && notified.resolve(arrival),
    });
    t.after(() => integrator.close());
    const sora = new SoraSimulator(platform.sora);
    await sora.start();
    t.after(() => sora.close());
    await platform.archivesAt(sora.archiveUrl);
    const functions = start(guide, language, python, storage.origin);
    t.after(() => functions.stop());
    storage.answer = (response, body) => {
      functions.call(body).then(
        (urls) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(urls)),
        () => response.writeHead(500).end(),
      );
    };
    const call = await callsOf(values, 'cws:application:write cws:communication-service');
    await call('PATCH', '', {
      soraFileSendEvent: integrator.url,
      soraRecGetMultiPresignedUrl: `${storage.origin}/urls`,
    });
    const { channelId = '' } = await call('POST', '/channels', { soraVersion: '2025.1.0' });
    const connection = sora.join(channelId, { deviceId: values['deviceId'] });
    const recording = sora.record([connection], { webmBytes });
    for (const webhook of [sora.created(connection), ...recording.webhooks]) {
      assert.equal(await webhook.send(), 200);
    }
    const { body } = await notified.promise;
    assert.equal(body.message, undefined);
    assert.ok(storage.requests.every(({ verified }) => verified));

    const [completion, ...others] = (await functions.call(body)) as Completion[];
    assert.deepEqual(others, []);
    const [file] = recording.webmFiles;
    const parts = storage.stored.filter((one) => one.file === file);
    assert.equal(parts.length, 2);
    assert.equal(
      parts.reduce((sum, { bytes }) => sum + bytes, 0),
      webmBytes,
    );
    assert.deepEqual(completion, {
      Bucket: 'recordings',
      Key: file,
      UploadId: parts[0]?.uploadId,
      MultipartUpload: {
        Parts: parts.map(({ partNumber, tag }) => ({ PartNumber: partNumber, ETag: tag })),
      },
    });
  });
}

interface Completion {
  readonly Key: string;
}

/** Runs the guide's functions as a program that reads lines of JSON and writes a line of JSON for each. */
function start(guide: Guide, language: Language, python: string, storage: string) {
  const { shown, own, loop, file } = storages[language];
  const code = guide.samples
    .filter((one) => one.language === language && ['signed-urls', 'completion'].includes(one.name))
    .map((one) => one.code)
    .join('\n');
  assert.match(code, shown);
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-samples-'));
  writeFileSync(join(folder, file), [code.replace(shown, () => own), loop].join('\n'));
  const command = language === 'js' ? process.execPath : python;
  const child: ChildProcess = spawn(command, [file], {
    cwd: folder,
    env: { PATH: process.env['PATH'], STORAGE: storage, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines: Interface = createInterface({ input: child.stdout as NonNullable<typeof child.stdout> });
  const waiting: { resolve: (answer: unknown) => void; reject: (error: Error) => void }[] = [];
  lines.on('line', (line) => {
    if (line.startsWith('>')) waiting.shift()?.resolve(JSON.parse(line.slice(1)));
  });
  lines.on('close', () => {
    for (const one of waiting.splice(0)) one.reject(new Error(`${file} ended`));
  });
  return {
    call: (body: unknown): Promise<unknown> =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject });
        child.stdin?.write(`${JSON.stringify(body)}\n`);
      }),
    stop(): void {
      child.kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
