import { readinessByLog } from './readiness.ts';

test('a process waits for the log at its start, and only warns if the log is unavailable later', () => {
  let reason: string | undefined = 'has not joined yet';
  const { notReady, warnings } = readinessByLog('results', () => reason);
  expect([notReady(), warnings()]).toEqual(['has not joined yet', []]);
  reason = undefined;
  expect([notReady(), warnings()]).toEqual([undefined, []]);
  reason = 'no answer for 12 s';
  const warning = { name: 'kafka_unavailable', message: 'results: no answer for 12 s' };
  expect([notReady(), warnings()]).toEqual([undefined, [warning]]);
  reason = undefined;
  expect([notReady(), warnings()]).toEqual([undefined, []]);
});
