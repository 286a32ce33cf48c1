import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOfLastRelease } from './last-release.ts';
import { type LoggedLine, linesAbout } from './pod-logs.ts';

const isLast = (image: string) => image === 'platform:last';
const cut = 'headset.devices.v1.DevicesService/SendOperation: Received RST_STREAM with code 0';
const gateway = (image: string, internal?: string): LoggedLine => ({
  ...{ pod: 'gateway', image },
  line: { level: 'error', requestId: 'r', code: 'internal', ...(internal && { internal }) },
});
const service = (image: string, message: string): LoggedLine => ({
  ...{ pod: 'devices', image },
  line: { level: 'error', message: 'call failed', err: { message } },
});

test.each<[string, boolean, LoggedLine[]]>([
  ['its gateway logged an aborted call', true, [gateway('platform:last', cut)]],
  ["today's gateway logged that", false, [gateway('platform:today', cut)]],
  ['its gateway had another error', false, [gateway('platform:last', 'X: no such field')]],
  [
    'its service logged an aborted call, and a gateway passed the error on',
    true,
    [service('platform:last', cut), gateway('platform:today')],
  ],
  ["today's service logged that", false, [service('platform:today', cut), gateway('platform:today')]],
  [
    "its service saw that, but the gateway's own call failed in another way",
    false,
    [service('platform:last', cut), gateway('platform:today', 'X: no such field')],
  ],
  ['the gateway has no line of it', false, [service('platform:last', cut)]],
  ['nothing was logged', false, []],
])('an error is of the last release: %s', (_, expected, lines) => {
  expect(isOfLastRelease(lines, 'r', isLast)).toBe(expected);
});

test('the lines about an error are its own lines and the errors of the second before, by time, from any file', () => {
  const directory = mkdtempSync(join(tmpdir(), 'pod-logs-'));
  try {
    const at = (ms: number) => new Date(1_700_000_000_000 + ms).toISOString();
    const write = (file: string, ...lines: (object | string)[]) =>
      writeFileSync(
        join(directory, file),
        lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
      );
    write(
      'gateway-1.abc.log',
      { time: at(0), level: 'error', requestId: 'r' },
      { time: at(0), level: 'info' },
      '{"cut',
    );
    write(
      'devices-1.def.log',
      { time: at(-400), level: 'error' },
      { time: at(-2000), level: 'error' },
      'no JSON',
    );
    const images = new Map([['devices-1.def.log', 'platform:last']]);
    expect(linesAbout(directory, images, 'r', 1_700_000_000_000)).toEqual([
      { pod: 'devices-1', image: 'platform:last', line: { time: at(-400), level: 'error' } },
      { pod: 'gateway-1', image: '', line: { time: at(0), level: 'error', requestId: 'r' } },
    ]);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
