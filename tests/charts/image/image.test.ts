import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { billingConfig } from '@headset-cloud/billing/config.ts';
import { communicationConfig } from '@headset-cloud/communication/config.ts';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { freePorts } from '@headset-cloud/demo/stack/ports.ts';
import { devicesConfig } from '@headset-cloud/devices/config.ts';
import { notifierConfig } from '@headset-cloud/notifier/config.ts';
import type { ConfigSpec } from '@headset-cloud/runtime/config.ts';
import { transactionsConfig } from '@headset-cloud/transactions/config.ts';
import { updatesConfig } from '@headset-cloud/updates/config.ts';
import { contents, type Image, readImage } from '../../../charts/image/archive.ts';
import { type Builder, findBuilder } from '../../../charts/image/builder.ts';
import { compileCacheFolder } from '../../../charts/image/compile-cache.ts';
import {
  type Base,
  buildStaged,
  type Made,
  provideBase,
  root,
  type Settings,
  stagingOf,
} from '../../../charts/image/make.ts';
import { stage, stagedWorkspaces } from '../../../charts/image/stage.ts';
import { type TarEntry, writeTar } from '../../../charts/image/tar.ts';
import { importsOf } from '../../architecture/imports.ts';
import { isLong, itIfLong } from '../../support/long.ts';
import { describeUnless, itUnless } from '../../support/skip.ts';
import { keptImage, settingsOf } from './kept.ts';
import { filesBelow, missingForImages, settingsFor, shells } from './staged.ts';

const missing = orDemanded(missingForImages());
if (missing) process.stderr.write(`The images are not tested: ${missing}.\n`);
const site = join(root, 'docs-site/dist/server.mjs');
const noSite = orDemanded(existsSync(site) ? undefined : 'the site is not built (make site-build)');
if (noSite) process.stderr.write(`The site's image is not tested: ${noSite}.\n`);

const mostBytes = 90e6;
const say = () => {};

let work: string;
let builder: Builder;
let base: Base;

beforeAll(async () => {
  if (missing) return;
  work = mkdtempSync(join(tmpdir(), 'headset-cloud-image-test-'));
  builder = findBuilder();
  base = await provideBase(settingsFor({}), builder, work, say);
}, 600_000);
afterAll(() => {
  builder?.close();
  if (work) rmSync(work, { recursive: true, force: true });
});

/** A staged folder of the given kind. */
async function staged(name: string, settings: Settings): Promise<string> {
  const folder = join(work, name);
  mkdirSync(dirname(folder), { recursive: true });
  await stage(stagingOf(settings, folder, base.facts));
  return folder;
}

interface Ended {
  readonly code: number;
  readonly output: string;
}

/** Runs the staged Node in the staged application as a container would, until it ends. */
async function runStaged(folder: string, args: string[], env: Record<string, string> = {}): Promise<Ended> {
  try {
    const { stdout, stderr } = await promisify(execFile)(
      join(folder, 'node/local/bin/node'),
      ['--disable-warning=ExperimentalWarning', ...args],
      { cwd: join(folder, 'app'), env: { NODE_ENV: 'production', ...env }, timeout: 120_000 },
    );
    return { code: 0, output: stdout + stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as Error & { code: number; stdout: string; stderr: string };
    return { code, output: `${stdout}${stderr}` };
  }
}

/** A configuration with which a service would start, and wait for its stores. */
const stores = {
  MONGODB_URI: 'mongodb://127.0.0.1:1/?serverSelectionTimeoutMS=100',
  KAFKA_BROKERS: '127.0.0.1:1',
  SECRET_KEY: Buffer.from(Array.from({ length: 32 }, (_, n) => n)).toString('base64'),
  // Without certificates, production starts in a service mesh only.
  RPC_TLS_MODE: 'mesh',
};

describeUnless(missing, 'the image of all processes', () => {
  let one: string;
  let app: string;
  let files: string[];
  let image: Image;
  let inside: Map<string, TarEntry>;
  const made: Made[] = [];

  beforeAll(async () => {
    // Read once: a commit during the test would be another version.
    const settings = settingsOf('platform');
    one = await staged('one', settings);
    app = join(one, 'app');
    files = filesBelow(app);
    // The tests on a cluster use the first image.
    made.push(await buildStaged(settings, one, base, builder));
    if (isLong) {
      const two = await staged('in/another/folder/two', settings);
      made.push(await buildStaged({ ...settings, out: join(work, 'two.tar') }, two, base, builder));
    }
    image = readImage(settings.out);
    inside = contents(image);
  }, 600_000);

  it('is staged without tests, development packages, demo, standalone and embedded stores', () => {
    const own = files.filter((file) => !file.startsWith('node_modules/'));
    expect(own.length).toBeGreaterThan(400);
    expect(own.filter((file) => /\.test\.ts$|(^|\/)(testing|tests|__snapshots__)\//.test(file))).toEqual([]);
    expect(own.filter((file) => /services\/(demo|standalone|embedded)\//.test(file))).toEqual([]);
    const sources = own.filter((file) => !file.startsWith(`${compileCacheFolder}/`));
    expect(sources.filter((file) => !/\.(ts|json|yaml)$/.test(file))).toEqual([]);
    const packages = readdirSync(join(app, 'node_modules'));
    const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    // Listed as a development package for tests, but the gateway uses it, too.
    const used = ['lru-cache'];
    expect(packages.filter((name) => name in devDependencies && !used.includes(name))).toEqual([]);
    expect(packages).toEqual(expect.arrayContaining(['mongodb', 'kafkajs', 'koa', 'pino']));
    expect(packages).not.toEqual(expect.arrayContaining(['oidc-provider']));
    expect(files.filter((file) => /\/\.bin\/|package-lock\.json$|\.npmrc$/.test(file))).toEqual([]);
  });

  it('has a workspace for each process, linked into node_modules, not copied', () => {
    const places = stagedWorkspaces(root, 'platform');
    expect(places).toEqual(
      expect.arrayContaining(['gateway', 'proto', 'services/ctl', 'services/device-link']),
    );
    const links = join(app, 'node_modules/@headset-cloud');
    expect(readdirSync(links).sort()).toEqual(places.map((place) => basename(place)).sort());
    for (const place of places) {
      const link = join(links, basename(place));
      expect(lstatSync(link).isSymbolicLink()).toBe(true);
      expect(readlinkSync(link)).toBe(`../../${place}`);
      expect(inside.get(`app/node_modules/@headset-cloud/${basename(place)}`)).toMatchObject({
        type: 'symlink',
        target: `../../${place}`,
      });
    }
  });

  it('has every file and package that its sources import', () => {
    const lacking = files
      .filter((file) => file.endsWith('.ts') && !/^node_modules\/|\/gen\//.test(file))
      .flatMap((file) => importsOf(file, readFileSync(join(app, file), 'utf8')))
      .filter(({ target }) => !target.startsWith('node:'))
      .filter(({ target }) => {
        const own = /^@headset-cloud\/([^/]+)\/(.+)$/.exec(target);
        if (own) {
          const folder = join(app, 'node_modules/@headset-cloud', own[1] ?? '');
          return !['src', 'gen', '.'].some((place) => existsSync(join(folder, place, own[2] ?? '')));
        }
        if (/^(services|gateway|proto)\//.test(target)) return !existsSync(join(app, target));
        const name = target.split('/').slice(0, target.startsWith('@') ? 2 : 1);
        return !existsSync(join(app, 'node_modules', ...name));
      });
    expect(lacking).toEqual([]);
  });

  /** Test settings, and leases that are too short for a production platform. */
  const switches: Record<string, ConfigSpec> = {
    billing: billingConfig,
    communication: communicationConfig,
    connectivity: {},
    'device-link': {},
    devices: devicesConfig,
    notifier: notifierConfig,
    transactions: transactionsConfig,
    updates: updatesConfig,
  };

  it('knows the test settings of each service', () => {
    const services = stagedWorkspaces(root, 'platform')
      .filter((place) => existsSync(join(app, place, 'src/config.ts')) && place !== 'gateway')
      .filter((place) => existsSync(join(app, place, 'src/definition.ts')))
      .map((place) => basename(place));
    expect(Object.keys(switches).sort()).toEqual(services.sort());
  });

  it('has an entry for each process; the process starts and names an invalid setting', async () => {
    const entries = files.filter((file) => /^(gateway|services\/[^/]+)\/src\/main\.ts$/.test(file));
    expect(entries).toEqual(
      expect.arrayContaining(
        ['gateway', ...Object.keys(switches).map((s) => `services/${s}`)].map((p) => `${p}/src/main.ts`),
      ),
    );
    for (const entry of entries.filter((e) => e !== 'services/ctl/src/main.ts')) {
      const { code, output } = await runStaged(one, [entry], { ...stores, LOG_LEVEL: 'loud' });
      expect({ entry, code, output }).toEqual({
        entry,
        code: 2,
        output: expect.stringContaining('LOG_LEVEL'),
      });
      const logged = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(logged).toEqual([
        expect.objectContaining({
          level: 'fatal',
          service: expect.any(String),
          message: 'wrong configuration',
          problems: expect.arrayContaining([
            { setting: 'LOG_LEVEL', reason: expect.stringContaining('LOG_LEVEL: "loud" is not one of') },
          ]),
        }),
      ]);
    }
    const help = await runStaged(one, ['services/ctl/src/main.ts', '--help']);
    expect(help).toEqual({ code: 0, output: expect.stringContaining('Usage: ctl') });
  });

  it.each(Object.keys(switches))('%s rejects short leases in production', async (name) => {
    const entry = `services/${name}/src/main.ts`;
    const first = await runStaged(one, [entry], { ...stores, KAFKA_SESSION_TIMEOUT_MS: '5999' });
    expect(first).toEqual({ code: 2, output: expect.stringContaining('KAFKA_SESSION_TIMEOUT_MS') });

    const own = Object.entries(switches[name] ?? {}).flatMap(([key, { productionMin }]) =>
      productionMin === undefined ? [] : [[key, String(productionMin - 1)]],
    );
    if (name === 'device-link') own.push(['DEVICE_LINK_LEASE_MS', '9999']);
    if (own.length === 0) return;
    const address = { ADVERTISE_ADDRESS: '127.0.0.1:9000' };
    const short = await runStaged(one, [entry], { ...stores, ...address, ...Object.fromEntries(own) });
    expect(short.code).toBe(2);
    for (const [key] of own) expect(short.output).toContain(key);
  });

  it('device-link without an address for other instances is rejected in production', async () => {
    const { code, output } = await runStaged(one, ['services/device-link/src/main.ts'], stores);
    expect({ code, output }).toEqual({ code: 2, output: expect.stringContaining('ADVERTISE_ADDRESS') });
  });

  // protects against supply/image-content
  itIfLong('has the same digest whenever and wherever it is staged and built (with TEST_LONG=1)', () => {
    expect(made[0]?.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect({ ...made[1], archive: '', sbom: '' }).toEqual({ ...made[0], archive: '', sbom: '' });
    const archives = made.map(({ archive }) => readFileSync(archive));
    expect(archives).toHaveLength(2);
    expect(archives[0]?.equals(archives[1] as Buffer)).toBe(true);
  });

  it('is no larger than 90 MB compressed', () => {
    expect(made[0]?.compressedBytes).toBeGreaterThan(mostBytes / 3);
    expect(made[0]?.compressedBytes).toBeLessThanOrEqual(mostBytes);
  });

  // protects against supply/image-rights
  it('runs as a numeric user, in production, by the arguments alone', () => {
    expect(image.config).toMatchObject({
      User: '65532:65532',
      WorkingDir: '/app',
      Env: expect.arrayContaining(['NODE_ENV=production']),
      Entrypoint: ['/usr/local/bin/node', '--disable-warning=ExperimentalWarning'],
    });
    expect(image.config.Cmd).toBeUndefined();
  });

  // protects against supply/image
  it('has no shell, no program except Node, and no files that its user may write', () => {
    expect([...inside.keys()].filter((path) => shells.test(path))).toEqual([]);
    const programs = [...inside.values()].filter(
      ({ path, type }) => type !== 'directory' && /^(usr\/(local\/)?)?s?bin\//.test(path),
    );
    expect(programs.map(({ path }) => path)).toEqual(['usr/local/bin/node']);
    const writable = [...inside.values()].filter(({ type, mode }) => type !== 'symlink' && mode & 0o022);
    expect(writable.map(({ path }) => path)).toEqual(['tmp']);
  });

  /** Runs a program of the image, on its files only, as its user and in its environment. */
  const inImage = (...args: string[]) => {
    const folder = join(work, 'root');
    if (!existsSync(folder)) unpack(inside, folder);
    const env = Object.fromEntries((image.config.Env ?? []).map((pair) => pair.split('=')));
    return promisify(execFile)('/usr/sbin/chroot', ['--userspec=65532:65532', folder, ...args], {
      ...{ env: { ...env, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' }, maxBuffer: 1e8 },
    });
  };
  // Only root may change the root folder.
  const asRoot = itUnless(process.getuid?.() === 0 ? undefined : 'not root');

  asRoot('starts on the files of the image alone, as its user', async () => {
    const node = image.config.Entrypoint ?? [];
    const { stdout } = await inImage(...node, '--print', 'process.version');
    expect(stdout.trim()).toBe(process.version);
    const write = "require('node:fs').writeFileSync('/app/new', '')";
    await expect(inImage(...node, '--eval', write)).rejects.toThrow('EACCES');
    await expect(inImage(...node, '/app/gateway/src/main.ts')).rejects.toMatchObject({
      code: 2,
      stdout: expect.stringContaining('OIDC_ISSUER'),
    });
  });

  asRoot('strips no types when a process starts', async () => {
    const entries = files.filter((file) => /^(gateway|services\/[^/]+)\/src\/([^/]+-)?main\.ts$/.test(file));
    expect(entries.length).toBeGreaterThan(10);
    for (const entry of entries) {
      const { stderr } = await inImage(...(image.config.Entrypoint ?? []), `/app/${entry}`).catch((e) => e);
      const lines = String(stderr).split('\n');
      expect(
        lines.filter((line) => /retrieving transpile cache .*success$/.test(line)).length,
      ).toBeGreaterThan(20);
      expect({ entry, stripped: lines.filter((line) => line.includes('no transpile cache')) }).toEqual({
        ...{ entry, stripped: [] },
      });
    }
  });

  it('names its own files in stack traces, not files of the staging folder', () => {
    const stripped = [...inside.values()].filter(
      ({ path, type }) => type === 'file' && path.startsWith(`app/${compileCacheFolder}/`),
    );
    expect(stripped.length).toBeGreaterThan(400);
    for (const { data } of stripped)
      expect(data.toString()).toMatch(
        /\/\/# sourceURL=file:\/\/\/app\/(gateway|proto|services)\/[^\n]+\.ts$/,
      );
  });

  // protects against supply/image-content
  it('has a bill of materials, inside and next to the image, of packages, Node and the base', () => {
    const beside = readFileSync(made[0]?.sbom ?? '');
    expect(inside.get('app/sbom.cdx.json')?.data.equals(beside)).toBe(true);
    const bill = JSON.parse(beside.toString());
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.5' });
    expect(bill.serialNumber).toMatch(
      /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    const purls: string[] = bill.components.map((c: { purl: string }) => c.purl);
    expect(new Set(purls).size).toBe(purls.length);
    expect(purls).toContain(`pkg:generic/node@${process.versions.node}`);
    for (const name of ['libc6', 'libatomic1', 'libstdc%2B%2B6', 'ca-certificates', 'tzdata'])
      expect(purls.filter((purl) => purl.startsWith(`pkg:deb/debian/${name}@`))).toHaveLength(1);
    const ofDebian = bill.components.filter(({ purl }: { purl: string }) => purl.startsWith('pkg:deb/'));
    const licences = Object.fromEntries(
      ofDebian.map((c: { name: string; licenses: { license: { name: string } }[] }) => [
        c.name,
        c.licenses.map(({ license }) => license.name).join(),
      ]),
    );
    expect(licences).toMatchObject({ tzdata: 'public-domain', libc6: 'NOASSERTION' });
    expect(Object.values(licences)).not.toContain('');
    // Every package folder of the image is in it.
    const installed = files
      .filter((file) => /(^|\/)node_modules\/(@[^/]+\/)?[^/@]+\/package\.json$/.test(file))
      .map((file) => JSON.parse(readFileSync(join(app, file), 'utf8')))
      .filter(({ name, version }) => name && version && !name.startsWith('@headset-cloud/'));
    expect(installed.length).toBeGreaterThan(150);
    for (const { name, version } of installed)
      expect(purls).toContain(`pkg:npm/${name.replace('@', '%40')}@${version}`);
    expect(beside.toString()).not.toContain(work);
  });
});

/** Writes the files of an image, owned by root. */
function unpack(files: Map<string, TarEntry>, folder: string): void {
  for (const { path, type, mode, data, target } of [...files.values()].sort((a, b) =>
    a.path < b.path ? -1 : 1,
  )) {
    const file = join(folder, path);
    mkdirSync(type === 'directory' ? file : dirname(file), { recursive: true });
    if (type === 'symlink') symlinkSync(target, file);
    if (type === 'file') writeFileSync(file, data, { mode });
  }
}

describeUnless(missing, 'the image for tests', () => {
  it('has the simulators, the trial issuer and standalone, but no tests', async () => {
    const paths = [...contents(readImage((await keptImage(settingsOf('test'))).archive)).keys()];
    for (const file of [
      'services/demo/src/headset/headset.ts',
      'services/standalone/src/issuer-main.ts',
      'services/embedded/package.json',
      'node_modules/oidc-provider/package.json',
    ])
      expect(paths).toContain(`app/${file}`);
    expect(paths.filter((path) => path.startsWith('app/node_modules/jest/'))).toEqual([]);
    expect(
      paths.filter((path) => !path.startsWith('app/node_modules/') && path.endsWith('.test.ts')),
    ).toEqual([]);
  }, 600_000);
});

describeUnless(missing, 'the image for development', () => {
  let folder: string;
  let app: string;
  beforeAll(async () => {
    folder = await staged('dev', settingsFor({ DEV: '1' }));
    app = join(folder, 'app');
  });

  /** Runs a program of the image on the staged Node, with the given standard input. */
  const runProgram = (name: 'tar' | 'rm', args: string[], input: Buffer | string = '') =>
    spawnSync(join(folder, 'node/local/bin/node'), [join(folder, 'node/local/bin', name), ...args], {
      input,
      encoding: 'utf8',
    });
  const archived = (path: string, text: string): Buffer =>
    writeTar([{ path, type: 'file', mode: 0o644, data: Buffer.from(text), target: '' }]);
  // The command that Skaffold runs in a pod.
  const unpacked = (into: string, archive: Buffer) =>
    runProgram('tar', ['xmf', '-', '-C', into, '--no-same-owner'], archive);

  it('is the test image with tar and rm', () => {
    expect(existsSync(join(app, 'services/standalone/src/issuer-main.ts'))).toBe(true);
    for (const name of ['tar', 'rm']) {
      const first = readFileSync(join(folder, 'node/local/bin', name), 'utf8').split('\n')[0];
      expect(first).toBe('#!/usr/local/bin/node');
      // Executable programs, also for other users than the image's owner.
      expect(statSync(join(folder, 'node/local/bin', name)).mode & 0o111).toBe(0o111);
    }
  });

  it('writes changed and new files in place, so that file watches see the change', () => {
    const into = join(work, 'pod');
    mkdirSync(join(into, 'app/services'), { recursive: true });
    const file = join(into, 'app/services/a.ts');
    writeFileSync(file, 'a longer text than the next');
    const { ino } = statSync(file);
    expect(unpacked(into, archived('app/services/a.ts', 'changed')).status).toBe(0);
    expect(unpacked(into, archived('app/services/new/b.ts', 'new')).status).toBe(0);
    expect(statSync(file).ino).toBe(ino);
    expect(readFileSync(file, 'utf8')).toBe('changed');
    expect(readFileSync(join(into, 'app/services/new/b.ts'), 'utf8')).toBe('new');
    expect(runProgram('rm', ['-rf', '--', file, join(into, 'none')]).status).toBe(0);
    expect(existsSync(file)).toBe(false);
  });

  it('rejects unsupported options with a message', () => {
    const made = runProgram('tar', ['cf', '-', '/app']);
    expect(made.status).toBe(2);
    expect(made.stderr).toContain('tar: unpacks standard input only');
    const removed = runProgram('rm', ['/app']);
    expect(removed.status).toBe(1);
    expect(removed.stderr).toContain('rm: knows rm -rf -- FILE… only');
  });
});

describeUnless(missing ?? noSite, "the site's image", () => {
  let folder: string;
  let image: Image;
  let made: Made;

  beforeAll(async () => {
    folder = await staged('site', settingsFor({ SITE: '1' }));
    const out = join(work, 'site.tar');
    made = await buildStaged(settingsFor({ SITE: '1', OUT: out }), folder, base, builder);
    image = readImage(out);
  }, 600_000);

  it('serves the site from its staging', async () => {
    const [port, adminPort] = await freePorts(2);
    const server = spawn(join(folder, 'node/local/bin/node'), image.config.Cmd as string[], {
      cwd: join(folder, 'app'),
      env: {
        NODE_ENV: 'production',
        SITE_LISTEN: `127.0.0.1:${port}`,
        ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      for await (const line of createInterface(server.stdout))
        if (JSON.parse(line).message === 'ready') break;
      const page = await fetch(`http://127.0.0.1:${port}/`);
      expect(page.status).toBe(200);
      expect(await page.text()).toContain('<html lang="ja"');
      expect((await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status).toBe(200);
    } finally {
      server.kill();
      await once(server, 'exit');
    }
  });

  it('has the same base, Node and user, without the platform', () => {
    expect(image.config).toMatchObject({
      User: '65532:65532',
      Entrypoint: ['/usr/local/bin/node', '--max-semi-space-size=1'],
      Cmd: ['docs-site/dist/server.mjs'],
    });
    const paths = [...contents(image).keys()];
    expect(paths).toEqual(expect.arrayContaining(['app/sbom.cdx.json', 'app/docs-site/dist/server.mjs']));
    expect(
      paths.filter((path) => shells.test(path) || /^app\/(gateway|services|node_modules)/.test(path)),
    ).toEqual([]);
    expect(made.compressedBytes).toBeLessThanOrEqual(mostBytes);
  });
});
