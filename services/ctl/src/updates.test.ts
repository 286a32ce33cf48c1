import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { createAdminServer } from '@headset-cloud/process/admin-server.ts';
import {
  ArtifactKind,
  ArtifactState,
  UpdatesAdminService,
} from '@headset-cloud/proto/updates/v1/admin_pb.ts';
import { bind } from '@headset-cloud/rpc/types.ts';
import { createLogger } from '@headset-cloud/runtime/logger.ts';
import { Registry } from 'prom-client';
import { run } from './testing/run.ts';

interface Uploaded {
  readonly method: string | undefined;
  readonly type: string | undefined;
  readonly length: string | undefined;
  readonly body: string;
}

let directory: string;
let storage: Server;
let listener: ReturnType<typeof createAdminServer>;
let uploads: Uploaded[];
/** Answer of the storage to the PUT. */
let answer: { status: number; text: string };
/** State of the firmware at each check. */
let states: ArtifactState[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'ctl-updates-'));
  writeFileSync(join(directory, 'fw.bin'), 'a firmware');
  uploads = [];
  answer = { status: 200, text: 'The file was accepted.' };
  states = [ArtifactState.DELIVERABLE];
  storage = createServer(async (request, response) => {
    const { 'content-type': type, 'content-length': length } = request.headers;
    const body = (await buffer(request)).toString();
    uploads.push({ method: request.method, type, length, body });
    response.writeHead(answer.status).end(answer.text);
  });
  await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve));
  const uploadUrl = `http://127.0.0.1:${(storage.address() as AddressInfo).port}/objects/x`;
  const firmware = {
    kind: ArtifactKind.FIRMWARE,
    package: 'com.vendor.fw',
    sizeBytes: 10n,
    updatedAtMs: 1000n,
  };
  listener = createAdminServer({
    service: 'updates',
    listen: { host: '127.0.0.1', port: 0 },
    token: undefined,
    bindings: [
      bind(UpdatesAdminService, {
        putFirmware: async ({ version }) =>
          version === '1.0'
            ? { artifact: { ...firmware, version, state: ArtifactState.DELIVERABLE }, uploadUrl: '' }
            : { artifact: { ...firmware, version, state: ArtifactState.UPLOADING }, uploadUrl },
        withdrawArtifact: async ({ kind, package: name, version }) => ({
          artifact: { kind, package: name, version, state: ArtifactState.WITHDRAWN },
        }),
        listArtifacts: async ({ kind, package: name }) => {
          if (name === 'none') return { artifacts: [] };
          if (kind === ArtifactKind.FIRMWARE) {
            const state = states.length > 1 ? states.shift() : states[0];
            const reason = state === ArtifactState.REJECTED ? 'It is broken.' : '';
            return {
              artifacts: [{ ...firmware, version: '2.0', state: state ?? ArtifactState.UNSPECIFIED, reason }],
            };
          }
          return {
            artifacts: [
              {
                ...firmware,
                kind: ArtifactKind.SOFTWARE,
                package: 'com.example.app',
                version: '1',
                state: ArtifactState.REJECTED,
                reason: 'No.',
                developerId: 'acme',
              },
            ],
          };
        },
      }),
    ],
    metrics: new Registry(),
    notReady: () => [],
    logger: createLogger({ service: 'test', level: 'silent' }),
  });
  await listener.start();
});

afterEach(async () => {
  await listener.stop();
  storage.closeAllConnections();
  await new Promise((resolve) => storage.close(resolve));
  rmSync(directory, { recursive: true });
});

const ctl = (...args: string[]) => run(args, { ADMIN_URL: `http://127.0.0.1:${listener.port()}` });

const put = (version: string, ...more: string[]) =>
  ctl('firmware', 'put', 'com.vendor.fw', version, join(directory, 'fw.bin'), ...more);

test('firmware put uploads the file to the URL, waits for its check, and shows the outcome', async () => {
  states = [ArtifactState.UPLOADING, ArtifactState.DELIVERABLE];
  expect(await put('2.0')).toEqual({
    code: 0,
    out:
      'kind       firmware\npackage    com.vendor.fw\nversion    2.0\nstate      deliverable\nbytes      10\n' +
      'sha256     -\ndeveloper  -\nupdated    1970-01-01T00:00:01.000Z\nreason     -\n',
    err: '',
  });
  expect(uploads).toEqual([
    { method: 'PUT', type: 'application/octet-stream', length: '10', body: 'a firmware' },
  ]);
});

test('an existing firmware is not uploaded again', async () => {
  const { code, out } = await put('1.0', '--json');
  expect([code, JSON.parse(out).artifact.state, uploads]).toEqual([0, 'ARTIFACT_STATE_DELIVERABLE', []]);
});

test('a rejection by the storage or by the check is reported with exit code 1', async () => {
  answer = { status: 422, text: 'The file was rejected: It is broken.' };
  expect(await put('2.0')).toEqual({
    ...{ code: 1, out: '', err: 'The upload was rejected (422): The file was rejected: It is broken.\n' },
  });
  answer = { status: 200, text: '' };
  states = [ArtifactState.REJECTED];
  expect(await put('2.0')).toEqual({ code: 1, out: '', err: 'The firmware was rejected: It is broken.\n' });
});

test('a check that takes too long is reported with exit code 3', async () => {
  states = [ArtifactState.UPLOADING];
  const { code, err } = await put('2.0', '--upload-timeout-ms', '300');
  expect([code, err]).toEqual([3, expect.stringMatching(/its check is not finished.*ctl firmware list/)]);
});

test('a missing file is reported with exit code 2', async () => {
  const { code, err } = await ctl('firmware', 'put', 'com.vendor.fw', '2.0', join(directory, 'none'));
  expect([code, err]).toEqual([2, expect.stringMatching(/^The file cannot be read: ENOENT/)]);
});

test('the catalogue is a table with the reasons for rejections', async () => {
  expect((await ctl('artifacts', 'list', '--kind', 'software')).out).toBe(
    'KIND      PACKAGE          VERSION  STATE     BYTES  DEVELOPER  UPDATED                   REASON\n' +
      'software  com.example.app  1        rejected  10     acme       1970-01-01T00:00:01.000Z  No.\n',
  );
  expect((await ctl('firmware', 'list', '--package', 'none')).out).toMatch(/^No firmware\. Put one: /);
  expect((await ctl('firmware', 'list')).out).toMatch(/^firmware +com\.vendor\.fw +2\.0 +deliverable/m);
  const { out } = await ctl('artifacts', 'list', '--json');
  expect(JSON.parse(out).artifacts).toHaveLength(1);
});

test('firmware and software are withdrawn; another kind is a wrong command line', async () => {
  expect((await ctl('firmware', 'withdraw', 'com.vendor.fw', '2.0')).out).toMatch(/^state +withdrawn$/m);
  expect((await ctl('artifacts', 'withdraw', 'software', 'com.example.app', '1')).out).toMatch(
    /^kind +software\n[\s\S]*^state +withdrawn$/m,
  );
  const wrong = await ctl('artifacts', 'withdraw', 'hardware', 'com.example.app', '1');
  expect([wrong.code, wrong.err]).toEqual([
    2,
    expect.stringMatching(/Allowed choices are software, firmware\./),
  ]);
});
