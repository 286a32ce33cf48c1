import { SignedUrlsService } from '@headset-cloud/proto/notifier/v1/service_pb.ts';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { actualCallers, edges, methodsOfProtos, namedCallers, sourcesOfComponents } from './callers.ts';

const sources = sourcesOfComponents();

// protects against services/too-many-rights
test('the protos name for each call exactly its callers', async () => {
  const methods = await methodsOfProtos();
  expect(methods.length).toBeGreaterThan(60);
  const table = (callersOf: (method: (typeof methods)[number]) => readonly string[]) =>
    Object.fromEntries(methods.map((m) => [`${m.parent.typeName}/${m.name}`, [...callersOf(m)].sort()]));
  expect(table(namedCallers)).toEqual(table((method) => actualCallers(method, sources)));
  for (const method of methods) expect([method.name, namedCallers(method)]).not.toEqual([method.name, []]);
});

test('distinguishes a new caller, a removed caller, and a service that only serves the call', () => {
  const method = SignedUrlsService.method.requestSignedUrls;
  const made = (name: string, text: string) => actualCallers(method, { [name]: [text] });
  const client = 'const urls = createClient(SignedUrlsService, channel);';
  expect(made('billing', `${client} await urls.requestSignedUrls({});`)).toEqual(['billing']);
  expect(made('billing', client)).toEqual([]);
  expect(made('billing', "import { SignedUrlsService } from 'x'; it.requestSignedUrls();")).toEqual([]);
  expect(made('notifier', 'bind(SignedUrlsService, { requestSignedUrls: it.requestSignedUrls })')).toEqual(
    [],
  );
  expect(made('ctl', "session.call('x', SignedUrlsService, (c) => c.requestSignedUrls({}))")).toEqual([
    'ctl',
  ]);
});

test('the connections between services are exactly these, and operators reach every admin port', async () => {
  const found = await edges();
  const to = (from: string, listener: string) =>
    found.filter((edge) => edge.from === from && edge.listener === listener).map((edge) => edge.to);
  const grpc = Object.fromEntries(['gateway', ...serviceNames].map((name) => [name, to(name, 'grpc')]));
  expect(grpc).toEqual({
    gateway: [
      ...['billing', 'communication', 'connectivity', 'devices', 'gateway', 'notifier', 'transactions'],
      'updates',
    ],
    devices: ['notifier', 'transactions'],
    transactions: ['device-link', 'devices'],
    updates: ['devices'],
    connectivity: ['devices'],
    communication: ['devices', 'notifier'],
    billing: [],
    'device-link': ['device-link', 'devices', 'transactions', 'updates'],
    notifier: ['devices'],
  });
  expect(to('ctl', 'admin')).toEqual([...serviceNames].sort());
  expect(to('ctl', 'grpc')).toEqual([]);
  expect(found.filter((edge) => edge.listener === 'admin' && edge.from !== 'ctl')).toEqual([]);
});
