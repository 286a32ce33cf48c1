import { logStores } from './log-stores.ts';

function logged(folder: string | undefined, env: Record<string, string>) {
  const lines: string[] = [];
  const say = (level: string) => (first: unknown, text?: string) =>
    void lines.push(`${level} ${text ?? first} ${text ? JSON.stringify(first) : ''}`.trim());
  logStores({ info: say('info'), warn: say('warn') } as never, folder, env);
  return lines;
}

test('the log names the stores that a process uses', () => {
  expect(logged('/data', {})).toEqual([
    'info stores: embedded, in a folder of this machine {"folder":"/data"}',
  ]);
  expect(logged(undefined, { ADVERTISE_ADDRESS: 'a:1' })).toEqual(['info stores: MongoDB and Kafka']);
});

test('logs a warning about embedded stores if other settings indicate MongoDB and Kafka', () => {
  expect(logged('/data', { NODE_ENV: 'production' })[1]).toMatch(
    /^warn MONGODB_URI and KAFKA_BROKERS.*production$/,
  );
  expect(logged('/data', { GATEWAY_PEERS: 'a:1', ADVERTISE_ADDRESS: 'b:1' })[1]).toMatch(
    /; ADVERTISE_ADDRESS, GATEWAY_PEERS have no effect$/,
  );
});

test('logs a warning about a process without ADVERTISE_ADDRESS: it must be the only one', () => {
  expect(logged(undefined, { NODE_ENV: 'production' })[1]).toMatch(/^warn ADVERTISE_ADDRESS is not set/);
});
