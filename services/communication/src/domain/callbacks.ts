import { archivesOf, type RecordingState, reportName, settings } from './recording.ts';
import { type SoraEvent, withoutCredentials } from './sora-event.ts';

type Json = Record<string, unknown>;

/** Body of a Sora event's callback. */
export function soraEventBody(applicationId: string, deviceId: string | null, event: SoraEvent): Json {
  return {
    applicationId,
    deviceId,
    timestamp: event.atMs,
    operationId: 'notify-sora-event',
    event: event.type,
    channelId: event.channelId,
    connectionId: event.connectionId,
    data: withoutCredentials(event.data),
  };
}

/** Body of the request for signed URLs (specification Callbacks 7). */
export function signedUrlsBody(recordingId: string, recording: RecordingState): Json {
  return {
    channel: channelOf(recordingId, recording, (file) => {
      const { splitted } = fileOf(recording, file) ?? { splitted: 0 };
      return recording.setting === settings.multi ? { file, splitted } : file;
    }),
  };
}

/** Body of the recording's notification; fields that are unknown after a failure are absent. */
export function recordingBody(recordingId: string, recording: RecordingState, deviceId: string | null): Json {
  const channel = channelOf(recordingId, recording, (file) => {
    if (recording.setting !== settings.multi) return file;
    const upload = fileOf(recording, file);
    if (!upload) return { file };
    const { splitted, uploadId, parts } = upload;
    return { file, splitted, ...(uploadId !== '' && { uploadId, parts }) };
  });
  return {
    applicationId: recording.applicationId,
    deviceId,
    timestamp: recording.endedAtMs,
    channel,
    ...(recording.state === 'failed' && { message: recording.message }),
  };
}

function channelOf(recordingId: string, recording: RecordingState, webm: (file: string) => unknown): Json {
  return {
    channelId: recording.channelId,
    metaFile: recording.reportFile ?? reportName(recordingId),
    connections: archivesOf(recording).map(({ connectionId, jsonFile, webmFile }) => ({
      connectionId,
      jsonFile,
      webmFile: webm(webmFile),
    })),
  };
}

function fileOf(recording: RecordingState, file: string) {
  return recording.files.find((upload) => upload.file === file);
}
