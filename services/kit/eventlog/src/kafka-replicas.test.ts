import { warnOfOneReplica } from './kafka-replicas.ts';

/** The warnings that a process with this configuration logs. */
function warnings(KAFKA_REPLICATION_FACTOR: number, env: Record<string, string>): [object, string][] {
  const lines: [object, string][] = [];
  const warn = (fields: object, message: string) => void lines.push([fields, message]);
  warnOfOneReplica({ KAFKA_REPLICATION_FACTOR }, { logger: { warn } as never, env });
  return lines;
}

test('in production a warning about a single replica names the setting and a better value', () => {
  const line = [
    { setting: 'KAFKA_REPLICATION_FACTOR', value: 1 },
    expect.stringMatching(/^KAFKA_REPLICATION_FACTOR is 1, but NODE_ENV is production: .*=3$/),
  ];
  expect(warnings(1, { NODE_ENV: 'production' })).toEqual([line]);
  expect(warnings(2, { NODE_ENV: 'production' })).toEqual([]);
  expect(warnings(1, { NODE_ENV: 'development' })).toEqual([]);
  expect(warnings(1, {})).toEqual([]);
});
