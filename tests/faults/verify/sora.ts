import type { SoraEvent } from '../evidence.ts';
import type { Check } from './check.ts';
import type { IndexedEvidence } from './indexed-evidence.ts';

/** Sora's events and recordings: each has one notification, and each part is stored once. */
export function verifySora(c: IndexedEvidence): Check[] {
  return [
    { name: 'every Sora event arrives once', violations: eventsOnce(c) },
    { name: 'every recording is saved and has one notification', violations: recordingsOnce(c) },
    { name: 'every saved recording is complete in the storage', violations: recordingsWhole(c) },
    { name: 'no part is uploaded again unless an upload was interrupted', violations: partsOnce(c) },
  ];
}

function eventsOnce({ evidence, others }: IndexedEvidence): string[] {
  const nameOf = (e: Pick<SoraEvent, 'event' | 'channelId' | 'connectionId'>) =>
    [e.event, e.channelId, e.connectionId].join(' ');
  const sent = new Map(evidence.soraEvents.map((e) => [nameOf(e), e]));
  const bodies = others.map((a) => a.body).filter((body) => body?.operationId === 'notify-sora-event');
  const arrived = Map.groupBy(bodies, (body) => nameOf(body));
  return [
    ...[...arrived.keys()].filter((name) => !sent.has(name)).map((name) => `${name} was never sent`),
    ...[...sent].flatMap(([name, e]) => {
      const all = arrived.get(name) ?? [];
      if (all.length !== 1) return [`${name} arrived ${all.length} times`];
      const [body] = all;
      const device = (body.deviceId ?? '') === e.deviceId;
      return device && body.applicationId === e.applicationId ? [] : [`${name}: ${JSON.stringify(body)}`];
    }),
  ];
}

/** Returns recordings with their notifications. */
function notified({ evidence, others }: IndexedEvidence) {
  const notices = others.map((a) => a.body).filter((body) => body?.channel);
  return evidence.recordings.map((recording) => ({
    recording,
    notices: notices.filter((body) => body.channel.metaFile === recording.metaFile.file),
  }));
}

function recordingsOnce(c: IndexedEvidence): string[] {
  return notified(c).flatMap(({ recording, notices }) => {
    const { file } = recording.metaFile;
    if (notices.length !== 1) return [`${file}: ${notices.length} notifications`];
    const [body] = notices;
    const good = body.message === undefined && body.applicationId === recording.applicationId;
    return good ? [] : [`${file}: ${JSON.stringify(body)}`];
  });
}

function recordingsWhole(c: IndexedEvidence): string[] {
  const stored = Map.groupBy(c.evidence.storedParts, (p) => `${p.file} ${p.uploadId}`);
  return notified(c).flatMap(({ recording, notices }) => {
    const [body] = notices;
    if (!body || body.message !== undefined) return [];
    const { metaFile, jsonFile, webmFile } = recording;
    const violations = [metaFile, jsonFile]
      .filter(({ file, parts }) => !stored.get(`${file} `)?.some((p) => p.sha256 === parts[0]))
      .map(({ file }) => `${file} is not in the storage`);
    const webm = body.channel.connections[0]?.webmFile;
    const inStorage = stored.get(`${webmFile.file} ${webm?.uploadId}`) ?? [];
    const whole = webmFile.parts.every((sha256, i) =>
      inStorage.some((p) => p.partNumber === i + 1 && p.sha256 === sha256 && p.tag === webm.parts[i]),
    );
    if (!whole || webm.file !== webmFile.file || webm.parts.length !== webmFile.parts.length) {
      violations.push(`${webmFile.file}: the notification was ${JSON.stringify(webm)}`);
    }
    return violations;
  });
}

/**
 * Maximum delay between the death of a sender and the record of its PUT; milliseconds. Such a PUT never has a complete
 * body.
 */
const seenLateMs = 500;

/** A part is uploaded again only after an interruption, and never after the start of a later part. */
function partsOnce({ evidence }: IndexedEvidence): string[] {
  const { puts, interruptions } = evidence;
  const cut = (fromMs: number, toMs: number) =>
    interruptions.some((i) => i.toMs >= fromMs && i.fromMs <= toMs);
  // One expired lease excuses the repetition of one part, once.
  const lapses = [...evidence.lapsedUploads];
  const lapsed = (file: string) => {
    const at = lapses.findIndex((recordingId) => file.startsWith(recordingId));
    if (at >= 0) lapses.splice(at, 1);
    return at >= 0;
  };
  return [...Map.groupBy(puts, (p) => p.file)].flatMap(([file, list]) =>
    list.flatMap((put, i) => {
      const before = list[i - 1];
      if (!before || before.partNumber < put.partNumber) return [];
      const name = `${file}, part ${put.partNumber}`;
      if (before.partNumber > put.partNumber) return [`${name} was sent after part ${before.partNumber}`];
      const begunMs = before.cutOff ? before.atMs - seenLateMs : before.atMs;
      const excused = cut(begunMs, put.atMs) || lapsed(file);
      return excused ? [] : [`${name} was sent again, although nothing had interrupted it`];
    }),
  );
}
