import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { type Import, importsOf, inCircles, root, sources } from './imports.ts';

const services: readonly string[] = serviceNames;
/** The packages of the kit, and the packages of the kit that each may import. */
const kit: Readonly<Record<string, readonly string[]>> = {
  runtime: [],
  store: ['runtime'],
  eventlog: ['runtime', 'store'],
  rpc: ['runtime'],
  outbound: ['runtime'],
  cli: ['runtime'],
  rules: ['runtime', 'store', 'eventlog', 'rpc'],
  process: ['runtime', 'store', 'eventlog', 'rpc', 'cli', 'rules'],
};
/** Folders of device-link; each imports only the folders before it, and `store` is used through `ports.ts`. */
const deviceLinkFolders = ['domain', 'transport', 'calls', 'session', 'presence', 'admission', 'store'];
const deviceLinkLevel = (path: string) =>
  deviceLinkFolders.indexOf(/^services\/device-link\/src\/([^/]+)\//.exec(path)?.[1] ?? '');
const product = (file: string) => !file.endsWith('.test.ts') && !file.includes('/testing/');

/** Rules as functions from an import to a complaint; each is shown to be able to fail below. */
const rules: Record<string, (i: Import) => boolean> = {
  'the domain imports neither transport, storage nor telemetry': ({ file, target }) =>
    /^(services\/[^/]+|gateway)\/src\/domain\//.test(file) &&
    (/^(@grpc|@connectrpc|@opentelemetry|mongodb|kafkajs|koa|@koa|undici|prom-client|pino|bson|node:(http|net|tls|http2|sqlite))/.test(
      target,
    ) ||
      /\/(grpc|store|consumers|admin|http)\//.test(target) ||
      /^@headset-cloud\/(embedded|rpc|store|eventlog|process|runtime\/(telemetry|logger))\//.test(target)),
  'no service imports another; they meet in proto and kit': ({ file, target }) => {
    const own =
      /^services\/(?:kit\/)?([^/]+)\//.exec(file)?.[1] ??
      (file.startsWith('gateway/') ? 'gateway' : undefined);
    if (!own || own === 'standalone' || own === 'prepare') return false;
    const other =
      /^@headset-cloud\/([^/]+)/.exec(target)?.[1] ??
      /^(?:services\/(?:kit\/)?([^/]+)|gateway)\//.exec(target)?.[1];
    return other !== undefined && ![own, 'proto', ...Object.keys(kit)].includes(other);
  },
  'a package of the kit imports only the packages below it': ({ file, target }) => {
    const own = /^services\/kit\/([^/]+)\//.exec(file)?.[1];
    const other = /^@headset-cloud\/([^/]+)/.exec(target)?.[1] ?? '';
    return own !== undefined && other in kit && other !== own && kit[own]?.includes(other) !== true;
  },
  'only the wiring knows which stack it is': ({ file, target }) =>
    /^(services\/(?!kit|embedded|standalone|prepare)|gateway)/.test(file) &&
    !/\/(main|main\..*)\.ts$/.test(file) &&
    /@headset-cloud\/(embedded\/|store\/mongo|eventlog\/kafka|process\/host)/.test(target),
  'only the assembly and the RPCs themselves import RPCs': ({ file, target }) =>
    /^services\/[^/]+\/src\/grpc\//.test(target) && !/\/src\/(grpc\/|build\.ts$)/.test(file),
  'a folder of device-link imports only the folders below it': ({ file, target }) =>
    deviceLinkLevel(file) >= 0 && deviceLinkLevel(target) > deviceLinkLevel(file),
  'kafkajs stays behind the EventLog port (rule C4)': ({ file, target }) =>
    target === 'kafkajs' && !/^(tests\/|services\/kit\/eventlog\/src\/kafka)/.test(file),
  'nothing of the product imports tests': ({ file, target }) =>
    !file.startsWith('tests/') && /^(tests\/|@headset-cloud\/tests)/.test(target),
};

const seeds: Record<string, Import> = {
  'the domain imports neither transport, storage nor telemetry': {
    file: 'services/devices/src/domain/x.ts',
    target: 'mongodb',
  },
  'no service imports another; they meet in proto and kit': {
    file: 'services/devices/src/x.ts',
    target: '@headset-cloud/notifier/build.ts',
  },
  'a package of the kit imports only the packages below it': {
    file: 'services/kit/runtime/src/x.ts',
    target: '@headset-cloud/rpc/types.ts',
  },
  'only the wiring knows which stack it is': {
    file: 'services/devices/src/x.ts',
    target: '@headset-cloud/embedded/store.ts',
  },
  'only the assembly and the RPCs themselves import RPCs': {
    file: 'services/devices/src/admin/x.ts',
    target: 'services/devices/src/grpc/x.ts',
  },
  'a folder of device-link imports only the folders below it': {
    file: 'services/device-link/src/transport/x.ts',
    target: 'services/device-link/src/session/x.ts',
  },
  'kafkajs stays behind the EventLog port (rule C4)': {
    file: 'services/devices/src/x.ts',
    target: 'kafkajs',
  },
  'nothing of the product imports tests': {
    file: 'gateway/src/x.ts',
    target: '@headset-cloud/tests/support/api.ts',
  },
};

describe('architecture', () => {
  const imports = ['services', 'gateway', 'proto', 'tests']
    .flatMap(sources)
    .filter(product)
    .flatMap((f) => importsOf(f));

  it('sees the imports of every service', () => {
    for (const s of services) expect(imports.some((i) => i.file.startsWith(`services/${s}/`))).toBe(true);
  });

  for (const [rule, broken] of Object.entries(rules)) {
    it(rule, () => {
      expect(imports.filter(broken)).toEqual([]);
      expect(broken(seeds[rule] as Import)).toBe(true);
    });
  }

  it('there are no import cycles, including types', () => {
    const edge = (file: string, target: string): Import => ({ file, target });
    const circle = [
      edge('services/a/src/b.ts', 'services/a/src/c.ts'),
      edge('services/a/src/c.ts', '@headset-cloud/a/b.ts'),
    ];
    expect(inCircles([...circle, edge('services/a/src/d.ts', 'services/a/src/b.ts')])).toEqual([
      'services/a/src/b.ts',
      'services/a/src/c.ts',
    ]);
    expect(inCircles(imports)).toEqual([]);
  });

  it('importing a module has no effect: only main files call at the top level', () => {
    const offenders = ['services', 'gateway']
      .flatMap(sources)
      .filter((f) => product(f) && !/main\.ts$/.test(f))
      .filter((f) =>
        /^(await |process\.(on|exit)\(|[a-z]\w*\([^)]*\);\s*$)/m.test(readFileSync(join(root, f), 'utf8')),
      );
    expect(offenders).toEqual([]);
  });
});
