import { isObject, type SoraEvent, text } from './sora-event.ts';

/** One connection's files in a recording, as Sora names them. */
export interface Archive {
  readonly connectionId: string;
  readonly jsonFile: string;
  readonly webmFile: string;
  /** True if Sora could not store the archive. */
  readonly failed: boolean;
}

/** One file that is uploaded to the integrator's storage. */
export interface UploadFile {
  readonly file: string;
  readonly bytes: number;
  /** Number of parts of a multipart upload; 0 for an upload of the whole file. */
  readonly splitted: number;
  /** Empty until the integrator has issued an id. */
  readonly uploadId: string;
  /** Tags of the sent parts, in order. */
  readonly parts: readonly string[];
  readonly done: boolean;
}

export const settings = {
  single: 'soraRecGetPresignedUrl',
  multi: 'soraRecGetMultiPresignedUrl',
} as const;
export type Setting = (typeof settings)[keyof typeof settings];

/** The state of a recording, from Sora's first event to the integrator's notification. */
export interface RecordingState {
  readonly applicationId: string;
  readonly channelId: string;
  readonly endpointId: string;
  readonly createdAtMs: number;
  /** Time of the last event. Absent in documents of 0.1.0. */
  readonly heardAtMs?: number;
  /** Set if the archive contains the report, but the event of the report has not arrived. */
  readonly reportFound?: true;
  readonly state: 'waiting' | 'uploading' | 'saved' | 'failed';
  readonly message: string;
  /** Null until Sora's report has arrived. */
  readonly reportFile: string | null;
  /** The archives that the report names; null if not known. */
  readonly expected: readonly Archive[] | null;
  readonly archives: readonly Archive[];
  /** Empty until the upload is planned. */
  readonly setting: Setting | '';
  readonly partBytes: number;
  readonly files: readonly UploadFile[];
  /** Number of upload runs. */
  readonly attempts: number;
  /** Number of consecutive failed requests for signed URLs. */
  readonly urlFailures: number;
  /** How often signed URLs were requested again. */
  readonly renewals: number;
  readonly endedAtMs: number;
}

/** Messages of failures for integrators (specification Callbacks 8). */
export const failures = {
  archive: 'archive is not found.',
  signedUrls: 'soraRecGetPresignedUrl or soraRecGetMultiPresignedUrl is failed.',
} as const;

/** Content of an event about a recording. */
export type RecordingEvent =
  | { readonly recordingId: string; readonly archive: Archive }
  | { readonly recordingId: string; readonly reportFile: string; readonly expected: Archive[] | null };

/**
 * Reads the events that make up a recording: archive.available and archive.failed for each connection, recording.report
 * at the end. Undefined for any other event, and for an event whose names cannot be parts of a URL.
 */
export function readRecordingEvent({ type, data, connectionId }: SoraEvent): RecordingEvent | undefined {
  const recordingId = text(data['recording_id']);
  if (!recordingId || !isName(recordingId)) return undefined;
  if (type === 'archive.available' || type === 'archive.failed') {
    const archive = readArchive(recordingId, { connection_id: connectionId, ...data });
    return (
      archive && { recordingId, archive: { ...archive, failed: type === 'archive.failed' || archive.failed } }
    );
  }
  if (type !== 'recording.report') return undefined;
  const reportedName = text(data['filename']);
  const list = data['archives'];
  return {
    recordingId,
    reportFile:
      reportedName && isName(reportedName) ? `${recordingId}/${reportedName}` : reportName(recordingId),
    expected: Array.isArray(list)
      ? list.filter(isObject).flatMap((one) => readArchive(recordingId, one) ?? [])
      : null,
  };
}

/** Sora's default name of a report. */
export function reportName(recordingId: string): string {
  return `${recordingId}/report-${recordingId}.json`;
}

function readArchive(recordingId: string, data: Record<string, unknown>): Archive | undefined {
  const connectionId = text(data['connection_id']);
  if (!connectionId || !isName(connectionId)) return undefined;
  const webm = text(data['filename']) ?? `archive-${connectionId}.webm`;
  const json = text(data['metadata_filename']) ?? `archive-${connectionId}.json`;
  const path = (name: string, defaultName: string) => `${recordingId}/${isName(name) ? name : defaultName}`;
  return {
    connectionId,
    webmFile: path(webm, `archive-${connectionId}.webm`),
    jsonFile: path(json, `archive-${connectionId}.json`),
    failed: false,
  };
}

/** True for a name that is one safe part of a path. */
function isName(name: string): boolean {
  return /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/.test(name);
}

/** True if the event of every archive that the report names has arrived. */
export function isComplete({ reportFile, expected, archives }: RecordingState): boolean {
  if (reportFile === null || expected === null) return false;
  const known = new Set(archives.map(({ connectionId }) => connectionId));
  return expected.every(({ connectionId }) => known.has(connectionId));
}

/** The archives to upload: every archive with an event, and every archive that only the report names. */
export function archivesOf({ archives, expected }: RecordingState): Archive[] {
  const known = new Set(archives.map(({ connectionId }) => connectionId));
  const withoutEvent = (expected ?? []).filter(({ connectionId }) => !known.has(connectionId));
  return [...archives, ...withoutEvent];
}

/** Number of parts of a file; an empty file has one empty part. */
export function partsOf(bytes: number, partBytes: number): number {
  return Math.max(1, Math.ceil(bytes / partBytes));
}

/** Byte range of one part: first byte, and number of bytes. */
export function partRange(
  file: UploadFile,
  part: number,
  partBytes: number,
): { from: number; bytes: number } {
  if (file.splitted === 0) return { from: 0, bytes: file.bytes };
  const from = part * partBytes;
  return { from, bytes: Math.min(partBytes, file.bytes - from) };
}

/** The files of a recording in the order of upload, metadata first, each with its size. */
export function planFiles(
  recordingId: string,
  recording: RecordingState,
  setting: Setting,
  partBytes: number,
  sizes: ReadonlyMap<string, number>,
): UploadFile[] {
  const file = (name: string, multipart: boolean): UploadFile => {
    const bytes = sizes.get(name) ?? 0;
    return {
      ...{ file: name, bytes, splitted: multipart ? partsOf(bytes, partBytes) : 0 },
      ...{ uploadId: '', parts: [], done: false },
    };
  };
  return [
    file(recording.reportFile ?? reportName(recordingId), false),
    ...archivesOf(recording).flatMap(({ jsonFile, webmFile }) => [
      file(jsonFile, false),
      file(webmFile, setting === settings.multi),
    ]),
  ];
}
