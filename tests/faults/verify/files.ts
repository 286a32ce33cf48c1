import type { Check } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';

/** Failures that a fault may cause: no signed URL, or a failed upload. */
const excusable: readonly unknown[] = [
  'The signed URL could not be obtained.',
  'The upload to the signed URL failed.',
];

/** Uploads of headsets: each has one notification, and after a success the bytes are in the storage. */
export function verifyFiles(c: IndexedEvidence): Check[] {
  return [
    { name: 'every upload of a headset has one notification', violations: notifiedOnce(c) },
    { name: 'every uploaded file is complete in the storage', violations: storedCompletely(c) },
  ];
}

function notices({ others }: IndexedEvidence) {
  return others.map((a) => a.body).filter((body) => typeof body?.file === 'string');
}

function notifiedOnce(c: IndexedEvidence): string[] {
  const { uploads } = c.evidence;
  const asked = new Map(uploads.map((u) => [u.file, u]));
  const notified = Map.groupBy(notices(c), (body) => body.file as string);
  const unknown = [...notified.keys()].filter((file) => !asked.has(file));
  return [
    ...unknown.map((file) => `${file} has a notification, but was never uploaded`),
    ...uploads.flatMap(({ file, taken, applicationId, deviceId }) => {
      const all = notified.get(file) ?? [];
      if (all.length === 0 && !taken) return [];
      if (all.length !== 1) return [`${file}: ${all.length} notifications`];
      const [body] = all;
      const own = body.applicationId === applicationId && body.deviceId === deviceId;
      const fair = body.result === 'success' || excusable.includes(body.message);
      return own && fair ? [] : [`${file}: ${JSON.stringify(body)}`];
    }),
  ];
}

function storedCompletely(c: IndexedEvidence): string[] {
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
