import { tellStores } from './told-stores.ts';

function told(folder: string | undefined, env: Record<string, string>) {
  const lines: string[] = [];
  const say = (level: string) => (first: unknown, text?: string) =>
    void lines.push(`${level} ${text ?? first} ${text ? JSON.stringify(first) : ''}`.trim());
  tellStores({ info: say('info'), warn: say('warn') } as never, folder, env);
  return lines;
}

test('the log says which stores a process uses', () => {
  expect(told('/data', {})).toEqual([
    'info stores: embedded, in a folder of this machine {"folder":"/data"}',
  ]);
  expect(told(undefined, { ADVERTISE_ADDRESS: 'a:1' })).toEqual(['info stores: MongoDB and Kafka']);
});

test('embedded stores are warned of where others are meant', () => {
  expect(told('/data', { NODE_ENV: 'production' })[1]).toMatch(
    /^warn MONGODB_URI and KAFKA_BROKERS.*production$/,
  );
  expect(told('/data', { GATEWAY_PEERS: 'a:1', ADVERTISE_ADDRESS: 'b:1' })[1]).toMatch(
    /no effect have ADVERTISE_ADDRESS, GATEWAY_PEERS$/,
  );
});

test('a process without an address for others is warned of: it must be the only one', () => {
  expect(told(undefined, { NODE_ENV: 'production' })[1]).toMatch(/^warn ADVERTISE_ADDRESS is not set/);
});
