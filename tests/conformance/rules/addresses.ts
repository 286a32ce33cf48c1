import { UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Link } from '../cloud/link.ts';
import type { FileAnswer } from '../files.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must } from '../verdict.ts';
import { activate, changeActivation, firstApplication, secondApplication } from './activations.ts';

const sizeBytes = 2048;
/** Time after which an unanswered request is repeated; milliseconds. */
const repeatMs = 30_000;
/** Time without any byte after which a PUT fails; milliseconds. */
const silenceMs = 60_000;

/** Begins a session of an activated headset and requests an upload. Returns the file's path. */
async function uploading(stage: Stage, answer?: FileAnswer): Promise<{ link: Link; file: string }> {
  if (answer) stage.files.answer = () => answer;
  const link = await stage.begin();
  await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
  return { link, file: upload(stage, 'one.bin') };
}

function upload(stage: Stage, name: string, bytes = sizeBytes): string {
  const file = `${firstApplication}/${stage.imei}/upload_files/conformance/${name}`;
  stage.client.request({ action: 'upload', file, sizeBytes: bytes });
  return file;
}

async function ended(link: Link, file: string) {
  return await link.until(`the report of the upload of ${file}`, () =>
    link.reportsOf('fileUpload').find(({ value }) => value.file === file),
  );
}

/** Verifies that the end of an upload is reported exactly once. */
async function once(stage: Stage, link: Link, file: string): Promise<void> {
  await stage.fence(link, 3n);
  const count = link.reportsOf('fileUpload').filter(({ value }) => value.file === file).length;
  must(count === 1, `${count} reports of one upload`);
}

export const addresses: readonly Rule[] = [
  {
    id: 'addresses/ids',
    sentence: 'request_id, chosen by the headset, unique in a session',
    prove: async (stage) => {
      stage.files.answer = (_, n) => (n % 2 === 1 ? { status: 403 } : 'well');
      const link = await stage.begin();
      for (let i = 0; i < 2; i += 1) await link.run(stage.id(), stage.update());
      const ids = link.urlRequests.map(({ requestId }) => requestId);
      must(ids.length >= 4 && new Set(ids).size === ids.length, `the ids are ${ids}`);
    },
  },
  {
    id: 'addresses/unavailable',
    sentence: 'ask again after retry_after_ms, with a new id',
    prove: async (stage) => {
      const times: number[] = [];
      stage.cloud.onUrl = () => {
        times.push(performance.now());
        if (times.length > 1) return { url: stage.files.address() };
        return { refusal: UrlRefusal.UNAVAILABLE, retryAfterMs: 1500 };
      };
      const link = await stage.begin();
      const { value } = await link.run(stage.id(), stage.update());
      must(value.success, `it failed: ${value.message}`);
      const waitedMs = (times[1] ?? 0) - (times[0] ?? 0);
      must(waitedMs > 1450, `requested again after ${waitedMs.toFixed(0)} ms, not 1500`);
      const ids = link.urlRequests.map(({ requestId }) => requestId);
      must(new Set(ids).size === ids.length, `the ids are ${ids}`);
    },
  },
  {
    id: 'addresses/asked-again',
    sentence: 'a request that has no answer when the session ends, or after 30 s, is made again',
    prove: async (stage) => {
      stage.cloud.onUrl = (_, link) => (link === first ? undefined : { url: stage.files.address() });
      const first: Link = await stage.begin();
      const id = stage.id();
      first.offer(id, stage.update());
      await first.ready(id);
      first.start(id);
      await first.until('the URL request', () => first.urlRequests.length > 0);
      const next = await stage.afterCut(first);
      next.start(id);
      must((await next.result(id)).value.success, 'it failed');
    },
  },
  {
    id: 'addresses/asked-again-in-session',
    sentence: 'or after 30 s, is made again. Within the session repeat it unchanged',
    seconds: 30,
    prove: async (stage) => {
      const times: number[] = [];
      stage.cloud.onUrl = () => {
        times.push(performance.now());
        return times.length > 1 ? { url: stage.files.address() } : undefined;
      };
      const link = await stage.begin();
      const id = stage.id();
      link.offer(id, stage.update());
      await link.ready(id);
      link.start(id);
      await link.until('the second request', () => times.length > 1, repeatMs);
      const waitedMs = (times[1] ?? 0) - (times[0] ?? 0);
      must(waitedMs > repeatMs - 500, `requested again after ${waitedMs.toFixed(0)} ms, not ${repeatMs}`);
      const [first, second] = link.urlRequests.map(({ about }) =>
        about.case === 'downloadTicket' ? Buffer.from(about.value).toString() : about.case,
      );
      must(first === second, 'another URL was requested');
      must((await link.result(id)).value.success, 'it failed');
    },
  },
  {
    id: 'addresses/eight-open',
    sentence: 'At most 8 are open at a time',
    prove: async (stage) => {
      stage.cloud.onUrl = () => undefined;
      const { link, file } = await uploading(stage);
      const files = [file, ...Array.from({ length: 11 }, (_, i) => upload(stage, `${i}.bin`))];
      await link.until('a URL request', () => link.urlRequests.length > 0);
      // The report was requested after the uploads, so the headset knows all uploads when it arrives.
      stage.client.request({
        action: 'report',
        customData: { success: true, customData: 'after the uploads' },
      });
      await link.until('the report after the uploads', () => link.reportsOf('customData').length > 0);
      await stage.fence(link, 3n);
      must(link.urlRequests.length <= 8, `${link.urlRequests.length} requests are open`);
      stage.cloud.onUrl = () => ({ url: stage.files.address() });
      const next = await stage.afterCut(link);
      for (const path of files) await ended(next, path);
    },
  },
  {
    id: 'uploads/one-put',
    sentence:
      'One PUT of the whole file to the address, with Content-Length, without Content-Type and without any header of authorization.',
    prove: async (stage) => {
      const { link, file } = await uploading(stage);
      const { value, report } = await ended(link, file);
      must(value.failure === UrlRefusal.UNSPECIFIED, `it failed: ${value.failure}`);
      must(value.sizeBytes === BigInt(sizeBytes), `size_bytes is ${value.sizeBytes}`);
      must(report.activationEpoch === 3n, `the report has epoch ${report.activationEpoch}, not 3`);
      const asked = link.urlRequests.at(-1)?.about;
      must(asked?.case === 'upload', 'no request for an upload');
      must(
        asked.value.file === file && asked.value.sizeBytes === BigInt(sizeBytes),
        'the request is for another file',
      );
      must(asked.value.activationEpoch === 3n, `the request has epoch ${asked.value.activationEpoch}, not 3`);
      const puts = stage.files.of('PUT');
      must(puts.length === 1 && puts[0]?.body.length === sizeBytes, `${puts.length} PUTs`);
      const { headers } = puts[0];
      must(headers['content-length'] === String(sizeBytes), `Content-Length is ${headers['content-length']}`);
      must(headers['content-type'] === undefined, `Content-Type is ${headers['content-type']}`);
      must(headers.authorization === undefined, 'the PUT has an authorization header');
      await once(stage, link, file);
    },
  },
  {
    id: 'uploads/put-failed',
    sentence:
      'Anything else, a redirect too, or nothing for 60 s, ends it as failed: an address is used once.',
    prove: async (stage) => {
      const { link, file } = await uploading(stage, { status: 500 });
      const { value } = await ended(link, file);
      must(value.failure === UrlRefusal.UPLOAD_FAILED, `failure is ${value.failure}`);
      await once(stage, link, file);
      must(stage.files.of('PUT').length === 1, `${stage.files.of('PUT').length} PUTs`);
    },
  },
  {
    id: 'uploads/refused',
    sentence: 'any other refusal ends it',
    prove: async (stage) => {
      stage.cloud.onUrl = () => ({ refusal: UrlRefusal.NO_SIGNED_URL });
      const { link, file } = await uploading(stage);
      const { value } = await ended(link, file);
      must(value.failure === UrlRefusal.NO_SIGNED_URL, `failure is ${value.failure}`);
      await once(stage, link, file);
      must(stage.files.of('PUT').length === 0, 'the headset sent a PUT');
    },
  },
  {
    id: 'uploads/silent-storage',
    sentence:
      'Nothing for 60 s means: in 60 s no byte of the file could be sent, and no byte of the answer came.',
    seconds: 60,
    prove: async (stage) => {
      const { link, file } = await uploading(stage, 'silent');
      const put = await link.until('the PUT', () => stage.files.of('PUT')[0]);
      const report = () => link.reportsOf('fileUpload').find((one) => one.value.file === file);
      const { value } = await link.until('the report of the upload', report, silenceMs);
      const waitedMs = performance.now() - put.atMs;
      must(value.failure === UrlRefusal.UPLOAD_FAILED, `failure is ${value.failure}`);
      must(waitedMs > silenceMs - 1000, `the PUT failed after ${waitedMs.toFixed(0)} ms, not ${silenceMs}`);
      must(stage.files.of('PUT').length === 1, `${stage.files.of('PUT').length} PUTs`);
    },
  },
  {
    id: 'uploads/aborted',
    sentence: 'a PUT in progress is aborted',
    prove: async (stage) => {
      const { link, file } = await uploading(stage, 'silent');
      const put = await link.until('the PUT', () => stage.files.of('PUT')[0]);
      const next = await changeActivation(stage, link, secondApplication, 5n, stage.id());
      const { value, report } = await ended(next, file);
      must(value.failure === UrlRefusal.UPLOAD_FAILED, `failure is ${value.failure}`);
      must(report.activationEpoch === 3n, `the report has epoch ${report.activationEpoch}, not 3`);
      await next.until('the end of the PUT', () => put.closed);
      must(stage.files.of('PUT').length === 1, `${stage.files.of('PUT').length} PUTs`);
    },
  },
  {
    id: 'uploads/one-path',
    sentence:
      'Uploads of one path are done one after the other, in the order in which the files were handed over',
    prove: async (stage) => {
      const { link, file } = await uploading(stage, { holdAfter: 0 });
      upload(stage, 'one.bin', 2 * sizeBytes);
      await link.until('the PUT', () => stage.files.of('PUT').length > 0);
      stage.client.request({
        action: 'report',
        customData: { success: true, customData: 'after the uploads' },
      });
      await link.until('the report after the uploads', () => link.reportsOf('customData').length > 0);
      await stage.fence(link, 3n);
      const { length } = link.urlRequests;
      must(length === 1, `${length} URL requests for one path at the same time`);
      stage.files.release();
      const reports = () => link.reportsOf('fileUpload').filter(({ value }) => value.file === file);
      await link.until('the reports of both uploads', () => reports().length > 1);
      const sizes = stage.files.of('PUT').map(({ body }) => body.length);
      must(String(sizes) === String([sizeBytes, 2 * sizeBytes]), `the PUTs had ${sizes} bytes`);
    },
  },
  {
    id: 'uploads/redirected',
    sentence: 'Anything else, a redirect too',
    prove: async (stage) => {
      stage.files.answer = (_, n) => (n === 1 ? 'elsewhere' : 'well');
      const { link, file } = await uploading(stage);
      const { value } = await ended(link, file);
      must(value.failure === UrlRefusal.UPLOAD_FAILED, `failure is ${value.failure}`);
      await once(stage, link, file);
      must(stage.files.of('PUT').length === 1, `${stage.files.of('PUT').length} PUTs`);
    },
  },
  {
    id: 'uploads/unknown-refusal',
    sentence: 'a refusal of another kind, an unknown one too, is reported as URL_REFUSAL_UPLOAD_FAILED',
    prove: async (stage) => {
      stage.cloud.onUrl = () => ({ refusal: 99 as UrlRefusal });
      const { link, file } = await uploading(stage);
      const { value } = await ended(link, file);
      must(value.failure === UrlRefusal.UPLOAD_FAILED, `failure is ${value.failure}`);
      await once(stage, link, file);
    },
  },
  {
    id: 'uploads/kept',
    sentence: 'uploads that are not ended | the first url_request | their file_upload report',
    prove: async (stage) => {
      stage.cloud.onUrl = () => undefined;
      const { link, file } = await uploading(stage);
      await link.until('the URL request', () => link.urlRequests.length > 0);
      stage.cloud.onUrl = () => ({ url: stage.files.address() });
      const next = await stage.afterKill();
      const { value } = await ended(next, file);
      must(value.failure === UrlRefusal.UNSPECIFIED, `it failed: ${value.failure}`);
      await once(stage, next, file);
    },
  },
];
