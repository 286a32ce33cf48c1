import { systemTime, type Time } from './clock.ts';
import { createGatheredLog, type Fields } from './gathered-log.ts';
import { createFakeTime, type FakeTime } from './testing/fake-time.ts';

let time: FakeTime;
beforeEach(() => {
  time = createFakeTime();
});

function gathered(maxKinds?: number, by: Time = time) {
  const lines: Fields[] = [];
  const options = { everyMs: 1000, ...(maxKinds && { maxKinds }) };
  const log = createGatheredLog((fields) => lines.push(fields), options, by);
  return { lines, log };
}

test('logs the first event of a kind at once, then one line per interval with the count and a few examples', async () => {
  const { lines, log } = gathered();
  for (let i = 0; i < 100; i++) log({ reason: 'token' }, { address: `192.0.2.${i}` });
  expect(lines).toEqual([{ reason: 'token', address: '192.0.2.0' }]);
  await time.advance(999);
  expect(lines).toHaveLength(1);
  await time.advance(1);
  expect(lines.slice(1)).toEqual([
    {
      reason: 'token',
      count: 99,
      examples: [{ address: '192.0.2.1' }, { address: '192.0.2.2' }, { address: '192.0.2.3' }],
    },
  ]);
  // The interval starts again with each line.
  log({ reason: 'token' }, { address: '192.0.2.200' });
  expect(lines).toHaveLength(2);
  await time.advance(1000);
  expect(lines.slice(2)).toEqual([{ reason: 'token', count: 1, examples: [{ address: '192.0.2.200' }] }]);
});

test('repeated equal events are one example', async () => {
  const { lines, log } = gathered();
  for (let i = 0; i < 9; i++) log({}, { address: '192.0.2.1' });
  log({}, { address: '192.0.2.2' });
  await time.advance(1000);
  expect(lines[1]).toEqual({ count: 9, examples: [{ address: '192.0.2.1' }, { address: '192.0.2.2' }] });
});

test('kinds do not hide each other, and a kind without events for the interval counts as new', async () => {
  const { lines, log } = gathered();
  log({ reason: 'token' }, {});
  log({ reason: 'host' }, {});
  expect(lines).toEqual([{ reason: 'token' }, { reason: 'host' }]);
  await time.advance(1000);
  expect(lines).toHaveLength(2);
  log({ reason: 'host' }, { address: '192.0.2.1' });
  expect(lines[2]).toEqual({ reason: 'host', address: '192.0.2.1' });
});

// protects against operators/log-flood
test('kinds and texts from outside take bounded memory and few lines', async () => {
  const { lines, log } = gathered(5);
  const long = 'x'.repeat(1_000_000);
  for (let i = 0; i < 10_000; i++) log({ caller: `${i} ${long}` }, { certificate: `${i} ${long}` });
  // The sixth line is the first of the events that share a line.
  expect(lines).toHaveLength(6);
  await time.advance(1000);
  expect(lines).toHaveLength(7);
  expect(lines[6]).toMatchObject({ count: 10_000 - 6 });
  expect(lines[6]?.['examples']).toHaveLength(3);
  expect(JSON.stringify(lines).length).toBeLessThan(5000);
});

test('it does not keep a process alive', () => {
  const handles = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = handles();
  gathered(undefined, systemTime).log({}, {});
  expect(handles()).toBe(before);
});
