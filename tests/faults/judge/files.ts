import type { Case } from './case.ts';
import type { Check } from './check.ts';

/** Failures that a fault may cause: there is no signed URL, or the upload to it fails. */
const excusable: readonly unknown[] = [
  'The signed URL could not be obtained.',
  'The upload to the signed URL failed.',
];

/** Files that headsets uploaded: one notification each; after a success the bytes are in the storage. */
export function judgeFiles(c: Case): Check[] {
  return [
    { name: 'every upload of a headset has one notification', violations: toldOnce(c) },
    { name: 'every uploaded file is complete in the storage', violations: storedWhole(c) },
  ];
}

function notices({ others }: Case) {
  return others.map((a) => a.body).filter((body) => typeof body?.file === 'string');
}

function toldOnce(c: Case): string[] {
  const { uploads } = c.evidence;
  const asked = new Map(uploads.map((u) => [u.file, u]));
  const told = Map.groupBy(notices(c), (body) => body.file as string);
  const unknown = [...told.keys()].filter((file) => !asked.has(file));
  return [
    ...unknown.map((file) => `${file} has a notification, but was never uploaded`),
    ...uploads.flatMap(({ file, taken, applicationId, deviceId }) => {
      const all = told.get(file) ?? [];
      if (all.length === 0 && !taken) return [];
      if (all.length !== 1) return [`${file}: ${all.length} notifications`];
      const [body] = all;
      const own = body.applicationId === applicationId && body.deviceId === deviceId;
      const fair = body.result === 'success' || excusable.includes(body.message);
      return own && fair ? [] : [`${file}: ${JSON.stringify(body)}`];
    }),
  ];
}

function storedWhole(c: Case): string[] {
  const asked = new Map(c.evidence.uploads.map((u) => [u.file, u]));
  const stored = new Map(c.evidence.storedFiles.map((f) => [f.file, f.sha256]));
  return notices(c)
    .filter((body) => body.result === 'success')
    .filter((body) => stored.get(body.file) !== asked.get(body.file)?.sha256)
    .map(
      (body) =>
        `${body.file}: reported as success, but the storage has ${stored.has(body.file) ? 'other bytes' : 'nothing'}`,
    );
}
