import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { archiveBytes } from '@headset-cloud/demo/sora/archives.ts';
import type { SimulatedRecording } from '@headset-cloud/demo/sora/simulator.ts';
import { type Storage, startStorage } from '@headset-cloud/demo/sora/storage.ts';
import { signedUrlRequestCheck } from '@headset-cloud/gateway/openapi/callbacks.ts';
import { readDocument } from '@headset-cloud/gateway/openapi/document.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { ctlWith } from './ctl.ts';
import { createTenant, describeOnStack, stack, type Tenant } from './harness.ts';
import { startSora, type TestSora } from './sora.ts';

const part = 5 * 1024 * 1024;
const messages = {
  archive: 'archive is not found.',
  signedUrls: 'soraRecGetPresignedUrl or soraRecGetMultiPresignedUrl is failed.',
} as const;
const single = 'soraRecGetPresignedUrl';
const multi = 'soraRecGetMultiPresignedUrl';

/** The body that the contract shows for a recording in parts. */
function documentedExample() {
  // biome-ignore lint/suspicious/noExplicitAny: the document as it was parsed
  const { webhooks } = readDocument('cws_notification') as any;
  return webhooks.recording.post.requestBody.content['application/json'].examples.multipart.value;
}

describeOnStack('recordings', () => {
  let tenant: Tenant;
  let sora: TestSora;
  let storage: Storage;
  let refuseOnce: Set<string>;
  beforeAll(async () => {
    refuseOnce = new Set();
    tenant = await createTenant({
      answer: ({ body }) => ({ status: 'channel' in body && refuseOnce.delete('next') ? 500 : 204 }),
    });
    sora = await startSora({ connectionLimit: 100 });
    storage = await startStorage();
    storage.keys.push(...tenant.integrator.keys);
    await tenant.call(200, 'PATCH', '', { soraFileSendEvent: `${tenant.integrator.origin}/recordings` });
  });
  beforeEach(() => {
    storage.answer = undefined;
    storage.trouble = undefined;
  });
  afterAll(async () => {
    await tenant.close();
    await sora.close();
    await storage.close();
  });

  const configure = (...names: string[]) =>
    tenant.call(200, 'PATCH', '', {
      [single]: names.includes(single) ? `${storage.origin}/single` : null,
      [multi]: names.includes(multi) ? `${storage.origin}/multi` : null,
    });
  /** Records a new channel with one connection and notifies the platform. */
  async function record(webmBytes: number, lose?: 'failed' | 'missing') {
    const { channelId } = (await tenant.call(201, 'POST', '/channels', { soraVersion: sora.version })).body;
    const connection = sora.sora.join(channelId);
    await sora.sora.created(connection).send();
    const recording = sora.sora.record([connection], {
      webmBytes,
      failed: lose === 'failed' ? [connection] : [],
    });
    if (lose === 'missing') sora.sora.archives.remove(recording.webmFiles[0] ?? '');
    for (const webhook of recording.webhooks) expect(await webhook.send()).toBe(200);
    await sora.sora.destroyed(connection).send();
    const names = {
      ...{ webm: recording.webmFiles[0] ?? '', json: recording.jsonFiles[0] ?? '' },
      meta: recording.reportFile,
    };
    return { channelId, connectionId: connection.connectionId, recording, names };
  }
  const notificationOf = (channelId: string) =>
    waitFor(`the notification of ${channelId}`, () =>
      tenant.integrator.received.find((r) => r.body.channel?.channelId === channelId),
    );
  const asked = (channelId: string) => storage.requests.filter((r) => r.body.channel.channelId === channelId);
  const stored = (file: string) => storage.stored.filter((one) => one.file === file);
  const sha256 = (file: string, from: number, bytes: number) =>
    createHash('sha256')
      .update(archiveBytes(file, from, bytes))
      .digest('hex');
  const recordings = (r: SimulatedRecording) =>
    ctlWith(
      { COMMUNICATION_ADMIN: stack.admin.communication },
      ...['recordings', 'list', '--application', tenant.applicationId, '--json'],
    ).then(({ out }) =>
      JSON.parse(out).recordings.find((one: { recordingId: string }) => one.recordingId === r.recordingId),
    );

  // proves cb/3/recording, cb/3/recording-both, cb/3/recording-multipart, cb/4/multipart-completion, cb/5/json-single, cb/7/url-multipart, cb/7/destinations
  // proves cb/3/recording-after-200
  it('with both settings the multipart setting applies: webm in parts, tags in order, every byte correct', async () => {
    await configure(single, multi);
    const bytes = 2 * part + 123;
    const { channelId, connectionId, recording, names } = await record(bytes);
    const callback = await notificationOf(channelId);
    const channel = (webmFile: unknown) => ({
      channelId,
      metaFile: names.meta,
      connections: [{ connectionId, jsonFile: names.json, webmFile }],
    });
    const [request, ...more] = asked(channelId);
    expect(more).toEqual([]);
    expect(request).toEqual({
      ...{ path: '/multi', applicationId: tenant.applicationId, verified: true },
      body: { channel: channel({ file: names.webm, splitted: 3 }) },
    });
    expect(signedUrlRequestCheck()(multi, request?.body)).toEqual([]);
    const parts = stored(names.webm);
    expect(callback).toMatchObject({ path: '/recordings', verified: true });
    expect(callback.webhookId).toBe(`recording-${recording.recordingId}`);
    expect(callback.body).toEqual({
      ...{ applicationId: tenant.applicationId, deviceId: null, timestamp: expect.any(Number) },
      channel: channel({
        ...{ file: names.webm, splitted: 3, uploadId: parts[0]?.uploadId },
        parts: parts.map(({ tag }) => tag),
      }),
    });
    // The contract's example has the actual form: the ETags as the storage wrote them.
    for (const body of [callback.body, documentedExample()]) {
      const { parts: tags, splitted } = body.channel.connections[0].webmFile;
      expect(tags).toHaveLength(splitted);
      for (const tag of tags) expect(tag).toMatch(/^"[0-9a-f]{32}"$/);
    }
    expect(parts.map(({ partNumber, sha256: hash }) => [partNumber, hash])).toEqual([
      [1, sha256(names.webm, 0, part)],
      [2, sha256(names.webm, part, part)],
      [3, sha256(names.webm, 2 * part, 123)],
    ]);
    expect(stored(names.meta).map((one) => one.sha256)).toEqual([sha256(names.meta, 0, 700)]);
    expect(stored(names.json).map((one) => one.sha256)).toEqual([sha256(names.json, 0, 300)]);
    expect(await recordings(recording)).toMatchObject({
      ...{ state: 'saved', channelId, message: '', totalBytes: String(bytes + 1000) },
      uploadedBytes: String(bytes + 1000),
    });
  });

  // proves cb/3/recording-single, cb/7/url-single
  it('with only the single-part setting every file is uploaded in one part', async () => {
    await configure(single);
    const { channelId, connectionId, names } = await record(part + 1);
    const { body } = await notificationOf(channelId);
    const channel = {
      ...{ channelId, metaFile: names.meta },
      connections: [{ connectionId, jsonFile: names.json, webmFile: names.webm }],
    };
    expect(asked(channelId)).toMatchObject([{ path: '/single', verified: true }]);
    expect(asked(channelId)[0]?.body).toEqual({ channel });
    expect(signedUrlRequestCheck()(single, asked(channelId)[0]?.body)).toEqual([]);
    expect(body).toEqual({
      ...{ applicationId: tenant.applicationId, deviceId: null, timestamp: expect.any(Number), channel },
    });
    expect(stored(names.webm).map((one) => one.sha256)).toEqual([sha256(names.webm, 0, part + 1)]);
  });

  // proves cb/8/archive-not-found
  it.each(['failed', 'missing'] as const)('an archive that is %s: archive is not found.', async (how) => {
    await configure(multi);
    const { channelId, connectionId, names } = await record(1000, how);
    expect((await notificationOf(channelId)).body).toEqual({
      ...{ applicationId: tenant.applicationId, deviceId: null, timestamp: expect.any(Number) },
      channel: {
        ...{ channelId, metaFile: names.meta },
        connections: [{ connectionId, jsonFile: names.json, webmFile: { file: names.webm } }],
      },
      message: messages.archive,
    });
    expect(asked(channelId)).toEqual([]);
  });

  // biome-ignore lint/suspicious/noExplicitAny: the request's shape is the contract's affair
  type Answer = (response: ServerResponse, body: any) => void;
  const json = (response: ServerResponse, value: unknown) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const spoiled =
    // biome-ignore lint/suspicious/noExplicitAny: an answer to be spoiled
      (spoil: (answer: any, webm: string) => void): Answer =>
      (response, body) => {
        // biome-ignore lint/suspicious/noExplicitAny: the same
        const answer: any = storage.sign(body);
        spoil(answer, body.channel.connections[0].webmFile.file);
        json(response, answer);
      };
  // proves cb/5/splitted, cb/7/url-errors, cb/8/presigned-failed
  it.each<[string, Answer]>([
    ['answers 400', (response) => response.writeHead(400).end()],
    ['answers 500', (response) => response.writeHead(500).end()],
    ['redirects', (response) => response.writeHead(302, { location: `${storage.origin}/multi` }).end()],
    ['answers no JSON', (response) => response.writeHead(200).end('hello')],
    ['answers without end', (response) => response.writeHead(200).end(`{"a":"${'x'.repeat(3_000_000)}"}`)],
    ['hangs up', (response) => response.destroy()],
    ['leaves a file out', spoiled((answer, webm) => delete answer[webm])],
    ['gives a part too few', spoiled((answer, webm) => answer[webm].parts.pop())],
    ['gives a part too many', spoiled((answer, webm) => answer[webm].parts.push(answer[webm].parts[0]))],
    [
      'gives one URL for the webm',
      spoiled((answer, webm) => Object.assign(answer, { [webm]: storage.origin })),
    ],
    ['points inside the network', spoiled((answer, webm) => answer[webm].parts.fill('http://10.0.0.1/x'))],
    ['points at metadata', spoiled((answer, webm) => answer[webm].parts.fill('http://169.254.169.254/'))],
    ['points at a redirect', spoiled((answer, webm) => answer[webm].parts.fill(`${storage.origin}/gone`))],
  ])('an endpoint that %s: the specified failure, and nothing of the webm is stored', async (_, answer) => {
    await configure(multi);
    storage.answer = answer;
    storage.trouble = ({ file }) =>
      file === 'gone' ? { status: 302, headers: { location: storage.origin } } : undefined;
    const { channelId, connectionId, names } = await record(part + 1);
    const { body } = await notificationOf(channelId);
    expect(body).toMatchObject({
      message: messages.signedUrls,
      channel: { channelId, metaFile: names.meta },
    });
    expect(body.channel.connections).toMatchObject([{ connectionId, webmFile: { file: names.webm } }]);
    expect(stored(names.webm)).toEqual([]);
  });

  // proves cb/3/recording-after-200
  it('the notification is sent only after the endpoint answered 200', async () => {
    await configure(multi);
    const { promise: asking, resolve: isAsked } = Promise.withResolvers<void>();
    const { promise: go, resolve: letGo } = Promise.withResolvers<void>();
    storage.answer = (response, body) => {
      isAsked();
      void go.then(() => json(response, storage.sign(body)));
    };
    const { channelId } = await record(1000);
    await asking;
    const early = tenant.integrator.arrivals.filter((r) => r.body.channel?.channelId === channelId);
    letGo();
    await notificationOf(channelId);
    expect(early).toEqual([]);
  });

  it('without either setting a recording causes no notification', async () => {
    await configure();
    const { channelId, recording } = await record(1000);
    await waitFor('the end', async () => (await recordings(recording))?.state === 'failed');
    expect(asked(channelId)).toEqual([]);
    expect(tenant.integrator.received.some((r) => r.body.channel?.channelId === channelId)).toBe(false);
  });

  it('a failing storage or archive costs only the interrupted part', async () => {
    await configure(multi);
    let [refusals, cuts] = [2, 1];
    storage.trouble = ({ partNumber }) => {
      if (partNumber === 3 && cuts-- > 0) sora.sora.archives.cuts = 1;
      return partNumber === 2 && refusals-- > 0 ? { status: 503 } : undefined;
    };
    const { channelId, names } = await record(3 * part);
    expect((await notificationOf(channelId)).body).not.toHaveProperty('message');
    expect(stored(names.webm).map(({ partNumber }) => partNumber)).toEqual([1, 2, 3]);
    expect(asked(channelId)).toHaveLength(1);
  });

  it('a repeated notification keeps its webhook-id', async () => {
    await configure(single);
    refuseOnce.add('next');
    const { channelId, recording } = await record(1000);
    await notificationOf(channelId);
    const arrivals = tenant.integrator.arrivals.filter((r) => r.body.channel?.channelId === channelId);
    expect(arrivals.map(({ webhookId, answered }) => [webhookId, answered])).toEqual([
      [`recording-${recording.recordingId}`, 500],
      [`recording-${recording.recordingId}`, 204],
    ]);
  });
});
