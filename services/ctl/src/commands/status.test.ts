import { type Line, settled } from './status.ts';

const line = (service: string, more: Partial<Line> = {}): Line => ({
  ...{
    service,
    version: '1',
    ready: true,
    since: '',
    reason: '',
    warnings: [],
    silent: false,
    refusesToken: false,
  },
  ...more,
});
const gone = { ready: false, silent: true, reason: 'ECONNREFUSED' };

/** Number of checks in all if every check gets these lines. */
async function asked(...lines: readonly Line[]): Promise<number> {
  let times = 0;
  let waitedMs = 0;
  await settled(
    async () => {
      times += 1;
      return lines;
    },
    async (ms) => {
      waitedMs += ms;
    },
  );
  expect(waitedMs).toBe((times - 1) * 1000);
  return times;
}

test.each<[string, number, Line[]]>([
  ['all are ready', 1, [line('a'), line('a-2')]],
  ['the only one does not answer', 1, [line('a', gone), line('b')]],
  ['one is not ready and reports it', 1, [line('a'), line('a-2', { ready: false, reason: 'MongoDB' })]],
  [
    'one does not answer, and another is not ready',
    1,
    [line('a'), line('a-2', gone), line('b', { ready: false, reason: 'MongoDB' })],
  ],
  ['one answers without a status', 1, [line('a'), line('a-2', { ready: false, reason: 'answers 401' })]],
  ['one does not answer beside a ready one, for 30 s', 31, [line('a'), line('a-2', gone)]],
  [
    'and another one stops',
    31,
    [line('a'), line('a-2', gone), line('a-3', { ready: false, reason: 'shutting down' })],
  ],
])('%s: %d checks', async (_, times, lines) => {
  expect(await asked(...lines)).toBe(times);
});
