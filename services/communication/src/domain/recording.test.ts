import { readConfig } from '@headset-cloud/runtime/config.ts';
import { communicationConfig } from '../config.ts';
import { isComplete, partRange, partsOf, type RecordingState, readRecordingEvent } from './recording.ts';
import { readSoraEvent, type SoraEvent } from './sora-event.ts';

const MiB = 1024 * 1024;
const event = (type: string, data: unknown) =>
  readSoraEvent({ type, channel_id: 'channel', data }, { arrivedAtMs: 0 }) as SoraEvent;
const archive = {
  connectionId: 'C',
  webmFile: 'R/archive-C.webm',
  jsonFile: 'R/archive-C.json',
  failed: false,
};

// proves api/9/chunk-part-size
test('parts have 10485760 bytes unless configured otherwise, at least 5 MiB', () => {
  expect(readConfig(communicationConfig, {}).COMMUNICATION_PART_BYTES).toBe(10_485_760);
  const set = (bytes: number) =>
    readConfig(communicationConfig, { COMMUNICATION_PART_BYTES: String(bytes) }).COMMUNICATION_PART_BYTES;
  expect(set(5 * MiB)).toBe(5 * MiB);
  expect(() => set(5 * MiB - 1)).toThrow('COMMUNICATION_PART_BYTES');
});

test.each([
  [0, 1, 0],
  [1, 1, 1],
  [10 * MiB, 1, 10 * MiB],
  [10 * MiB + 1, 2, 1],
  [5 * 1024 * MiB, 512, 10 * MiB],
])('%i bytes are %i parts, the last of %i bytes', (bytes, parts, last) => {
  expect(partsOf(bytes, 10 * MiB)).toBe(parts);
  const file = { file: 'f', bytes, splitted: parts, uploadId: '', parts: [], done: false };
  expect(partRange(file, parts - 1, 10 * MiB)).toEqual({ from: (parts - 1) * 10 * MiB, bytes: last });
});

describe('the content of events about recordings', () => {
  test('archive.available names the files; otherwise they have their default names', () => {
    const data = { recording_id: 'R', connection_id: 'C' };
    expect(readRecordingEvent(event('archive.available', data))).toEqual({ recordingId: 'R', archive });
    const named = { ...data, filename: 'a.webm', metadata_filename: 'a.json' };
    expect(readRecordingEvent(event('archive.available', named))).toEqual({
      recordingId: 'R',
      archive: { ...archive, webmFile: 'R/a.webm', jsonFile: 'R/a.json' },
    });
    expect(readRecordingEvent(event('archive.failed', data))).toEqual({
      recordingId: 'R',
      archive: { ...archive, failed: true },
    });
  });

  test('recording.report contains its file name and the archives', () => {
    const data = { recording_id: 'R', filename: 'report.json', archives: [{ connection_id: 'C' }, 7, {}] };
    expect(readRecordingEvent(event('recording.report', data))).toEqual({
      ...{ recordingId: 'R', reportFile: 'R/report.json', expected: [archive] },
    });
    expect(readRecordingEvent(event('recording.report', { recording_id: 'R' }))).toEqual({
      ...{ recordingId: 'R', reportFile: 'R/report-R.json', expected: null },
    });
  });

  test.each([
    ['../../etc/passwd', 'archive-C.webm'],
    ['.hidden', 'archive-C.webm'],
    ['a/b.webm', 'archive-C.webm'],
    ['a%2f.webm', 'archive-C.webm'],
    ['a.webm', 'a.webm'],
  ])('a file name that leads to another folder is not used: %s', (filename, used) => {
    const data = { recording_id: 'R', connection_id: 'C', filename };
    expect(readRecordingEvent(event('archive.available', data))).toMatchObject({
      archive: { webmFile: `R/${used}` },
    });
  });

  test('nor is such an id', () => {
    expect(readRecordingEvent(event('archive.available', { recording_id: '../R', connection_id: 'C' }))).toBe(
      undefined,
    );
    expect(readRecordingEvent(event('archive.available', { recording_id: 'R', connection_id: 'C/..' }))).toBe(
      undefined,
    );
    expect(readRecordingEvent(event('connection.created', { recording_id: 'R' }))).toBe(undefined);
  });
});

test('a recording is complete when all archives that the report names are known', () => {
  const state = (change: Partial<RecordingState>) =>
    isComplete({ reportFile: 'r', expected: [archive], archives: [], ...change } as RecordingState);
  expect(state({})).toBe(false);
  expect(state({ archives: [archive] })).toBe(true);
  expect(state({ archives: [{ ...archive, failed: true }] })).toBe(true);
  expect(state({ expected: [] })).toBe(true);
  expect(state({ expected: null, archives: [archive] })).toBe(false);
  expect(state({ reportFile: null, archives: [archive] })).toBe(false);
});
