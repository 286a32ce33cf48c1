import type { Case } from './case.ts';
import type { Check } from './check.ts';

/** Ends that a fault may cause: the address cannot be had, or the bytes do not get through. */
const excusable: readonly unknown[] = [
  'The signed URL could not be obtained.',
  'The upload to the signed URL failed.',
];

/** Files that headsets uploaded: one notification each, and success means that the bytes are there. */
export function judgeFiles(c: Case): Check[] {
  return [
    { name: 'every upload of a headset is told of once', violations: toldOnce(c) },
    { name: 'an uploaded file is in the storage, whole', violations: storedWhole(c) },
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
    ...unknown.map((file) => `${file} was told of, and never uploaded`),
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
        `${body.file}: success, and the storage has ${stored.has(body.file) ? 'other bytes' : 'nothing'}`,
    );
}
