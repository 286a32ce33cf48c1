import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import { parse, parseAllDocuments } from 'yaml';
import type { Builder } from '../../charts/image/builder.ts';
import { bring, readAsked } from '../../charts/image/skaffold-build.ts';
import { describeWith, itUnless } from '../support/skip.ts';
import { missingTools, runTool } from '../support/tools.ts';
import { kubeVersions, noSchemas, type Resource, schemasFolder } from './headset-cloud/chart.ts';

const config = parse(readFileSync(join(root, 'skaffold.yaml'), 'utf8'), { merge: true });
const digest = (of: string) => `sha256:${of.repeat(64)}`;
const registry = 'registry.example.com/team';
const ownValues = 'charts/headset-cloud/values-production.yaml';

/** Profiles that push images and require values. */
const pushed = ['staging', 'production'];

/** Input of each profile, and the images that its pods must then use. */
const profiles: Record<string, { images: Record<string, string>; expected: string[] }> = {
  trial: {
    images: { 'headset-cloud': 'headset-cloud:1.2.3', 'headset-cloud-test': 'headset-cloud-test:1.2.4' },
    expected: ['apache/kafka:4.1.1', 'headset-cloud-test:1.2.4', 'headset-cloud:1.2.3', 'mongo:8'],
  },
  dev: {
    images: { 'headset-cloud-dev': 'headset-cloud-dev:1.2.5' },
    expected: ['apache/kafka:4.1.1', 'headset-cloud-dev:1.2.5', 'mongo:8'],
  },
  ...Object.fromEntries(
    pushed.map((profile) => [
      profile,
      {
        images: {
          'headset-cloud': `${registry}/headset-cloud:1.2.3@${digest('a')}`,
          'headset-cloud-site': `${registry}/headset-cloud-site:1.2.3@${digest('b')}`,
        },
        expected: [
          `${registry}/headset-cloud-site@${digest('b')}`,
          `${registry}/headset-cloud@${digest('a')}`,
        ],
      },
    ]),
  ),
};

/** Skaffold in the project's folder, without a cluster and without the user's own settings. */
class Skaffold {
  readonly #home = mkdtempSync(join(tmpdir(), 'headset-cloud-skaffold-'));
  readonly #environment: Record<string, string | undefined>;

  constructor() {
    mkdirSync(join(this.#home, '.skaffold'));
    writeFileSync(
      join(this.#home, '.skaffold/config'),
      'global: {collect-metrics: false, survey: {disable-prompt: true}}\n',
    );
    // Skaffold cannot pass the Kubernetes version to Helm if there is no cluster.
    const helm = findProgram('helm');
    const file = join(this.#home, 'helm');
    writeFileSync(
      file,
      `#!/bin/sh\ncase " $* " in *" template "*) set -- "$@" --kube-version ${kubeVersions[1]};; esac\nexec '${helm}' "$@"\n`,
    );
    chmodSync(file, 0o755);
    const path = `${this.#home}${delimiter}${process.env['PATH']}`;
    const none = join(this.#home, 'no-kubeconfig');
    const { HEADSET_VALUES: _, ...own } = process.env;
    this.#environment = {
      ...own,
      PATH: path,
      HOME: this.#home,
      KUBECONFIG: none,
      SKAFFOLD_UPDATE_CHECK: 'false',
    };
  }

  run(args: readonly string[], environment: Record<string, string> = {}) {
    const all = [...args, '--interactive=false'];
    return runTool('skaffold', all, {
      cwd: root,
      env: { ...this.#environment, ...environment },
    });
  }

  /** The manifests of a profile, or the reason why there are none. */
  render(
    profile: string,
    environment: Record<string, string> = pushed.includes(profile) ? { HEADSET_VALUES: ownValues } : {},
  ): { manifests?: string; refused?: string } {
    const images = Object.entries(profiles[profile]?.images ?? {}).map(
      ([name, of]) => `--images=${name}=${of}`,
    );
    // A separate file, because standard output also has lines for people.
    const file = join(this.#home, `${profile}.yaml`);
    const { status, stdout, stderr } = this.run(
      [
        'render',
        '--profile',
        profile,
        '--offline=true',
        '--digest-source=none',
        `--output=${file}`,
        ...images,
      ],
      environment,
    );
    return status === 0 ? { manifests: readFileSync(file, 'utf8') } : { refused: stdout + stderr };
  }

  close() {
    rmSync(this.#home, { recursive: true, force: true });
  }
}

describeWith(['skaffold', 'helm'], 'skaffold.yaml', () => {
  let skaffold: Skaffold;
  beforeAll(() => {
    skaffold = new Skaffold();
  });
  afterAll(() => skaffold.close());

  const rendered = new Map<string, string>();
  const manifests = (profile: string): string => {
    const known = rendered.get(profile);
    if (known !== undefined) return known;
    const { manifests: made, refused } = skaffold.render(profile);
    if (made === undefined) throw new Error(refused);
    rendered.set(profile, made);
    return made;
  };
  const resourcesOf = (profile: string) =>
    parseAllDocuments(manifests(profile))
      .map((document) => document.toJS() as Resource | null)
      .filter((resource): resource is Resource => resource !== null);

  it('has exactly the tested profiles', () => {
    const { status, stdout } = skaffold.run(['inspect', 'profiles', 'list']);
    expect(status).toBe(0);
    const names = JSON.parse(stdout).profiles.map(({ name }: { name: string }) => name);
    expect(names.sort()).toEqual(Object.keys(profiles).sort());
  });

  it.each(Object.keys(profiles))('%s is read by Skaffold without errors', (profile) => {
    const { status, stdout } = skaffold.run(['diagnose', '--yaml-only', '--profile', profile]);
    expect(status).toBe(0);
    // The version that Skaffold itself writes: no conversion is needed.
    expect(parse(stdout).apiVersion).toBe(config.apiVersion);
  });

  it.each(Object.keys(profiles))('%s runs the given images', (profile) => {
    const images = [...manifests(profile).matchAll(/^\s+(?:- )?image: "?([^"\s]+)"?$/gm)].map(
      (match) => match[1],
    );
    expect([...new Set(images)].sort()).toEqual(profiles[profile]?.expected);
  });

  it.each([
    ['trial', 'headset-trial'],
    ['dev', 'headset-trial'],
    ['staging', 'headset-staging'],
    ['production', 'headset'],
  ])('%s goes into the namespace %s', (profile, namespace) => {
    const namespaces = resourcesOf(profile).map(
      ({ metadata }) => (metadata as { namespace?: string }).namespace,
    );
    expect(namespaces.length).toBeGreaterThan(50);
    expect([...new Set(namespaces)]).toEqual([namespace]);
  });

  it('staging uses separate names in shared stores', () => {
    const settings = (profile: string, name: string) => [
      ...new Set(
        resourcesOf(profile)
          .filter(({ kind }) => kind === 'Deployment')
          .flatMap((r) => r['spec'].template.spec.containers[0].env as { name: string; value?: string }[])
          .filter((env) => env.name === name)
          .map(({ value }) => value),
      ),
    ];
    expect(settings('staging', 'KAFKA_PREFIX')).toEqual(['staging.']);
    expect(settings('production', 'KAFKA_PREFIX')).toEqual([]);
    expect(settings('staging', 'MONGODB_DATABASE_PREFIX')).toEqual(['staging_']);
    expect(settings('production', 'MONGODB_DATABASE_PREFIX')).toEqual(['headset_']);
  });

  it.each(pushed)('%s names the missing values', (profile) => {
    const { refused } = skaffold.render(profile, {});
    expect(refused).toContain('HEADSET_VALUES is not set: it names your values file');
  });

  it('a trial accepts your values, which override its own', () => {
    const { manifests: made, refused } = skaffold.render('trial', { HEADSET_VALUES: ownValues });
    expect(made).toBeUndefined();
    expect(refused).toContain('kafka.brokers and trial.stores exclude each other');
  });

  it('only dev runs processes that watch their sources', () => {
    expect(manifests('dev').match(/--watch\b/g)?.length).toBeGreaterThan(8);
    for (const profile of Object.keys(profiles).filter((name) => name !== 'dev'))
      expect(manifests(profile)).not.toContain('--watch');
  });

  itUnless(missingTools('kubeconform') ?? noSchemas).each(Object.keys(profiles))(
    '%s: kubeconform (strict) accepts every resource',
    (profile) => {
      const location = `${schemasFolder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
      const foreign = 'HTTPRoute,ServiceMonitor,PrometheusRule,Certificate';
      const args = ['-strict', '-summary', '-output', 'json', '-schema-location', location, '-skip', foreign];
      const input = manifests(profile);
      const report = JSON.parse(runTool('kubeconform', args, { input }).stdout);
      expect(report.resources).toEqual([]);
      expect(report.summary.valid).toBeGreaterThan(50);
    },
  );
});

describe("Skaffold's custom builder", () => {
  /** Records the commands of a builder. */
  function noting(name: 'docker' | 'buildah'): { builder: Builder; done: string[] } {
    const done: string[] = [];
    const builder: Builder = {
      name,
      ...(name === 'docker' && {
        saveById: (reference: string, archive: string) => writeFileSync(archive, `${reference} by its id`),
      }),
      load: (archive) => done.push(`load ${archive}`),
      push: (archive, reference) => done.push(`push ${archive} as ${reference}`),
      save: () => {},
      build: () => {},
      close: () => {},
    };
    return { builder, done };
  }
  const own = `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`;

  it('reads the requested image and its destination', () => {
    expect(readAsked({ IMAGE: 'a/b:1', PUSH_IMAGE: 'true', PLATFORMS: own })).toEqual({
      reference: 'a/b:1',
      push: true,
    });
    const loaded = { IMAGE: 'b:1', PUSH_IMAGE: 'false', PLATFORMS: '', HEADSET_IMAGE_LOAD: 'cluster load' };
    expect(readAsked(loaded)).toEqual({ reference: 'b:1', push: false, loader: 'cluster load' });
  });

  it('rejects unsupported requests with the reason', () => {
    expect(() => readAsked({})).toThrow('IMAGE is not set');
    expect(() => readAsked({ IMAGE: 'b:1', PLATFORMS: `${own},linux/s390x` })).toThrow(
      `PLATFORMS: ${own},linux/s390x is asked for`,
    );
  });

  it('stores the image where Skaffold expects it', () => {
    const docker = noting('docker');
    bring('x.tar', { reference: 'b:1', push: false }, docker.builder);
    bring('y.tar', { reference: 'a/b:1', push: true }, docker.builder);
    expect(docker.done).toEqual(['load x.tar', 'push y.tar as a/b:1']);
  });

  it('passes a local image, under its name in pods, to the loader of a cluster that Skaffold does not know', () => {
    const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-loader-'));
    try {
      const loader = `cp --target-directory '${folder}'`;
      const { builder, done } = noting('docker');
      bring('y.tar', { reference: 'a/b:1', push: true, loader }, builder);
      expect(readdirSync(folder)).toEqual([]);
      bring('x.tar', { reference: 'b:1', push: false, loader }, builder);
      expect(done).toEqual(['push y.tar as a/b:1', 'load x.tar']);
      expect(readFileSync(join(folder, 'image.tar'), 'utf8')).toBe('b:1 by its id');
      const failing = { reference: 'b:1', push: false, loader: "echo 'no such node' >&2; false" };
      expect(() => bring('x.tar', failing, builder)).toThrow('no such node');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("without docker's daemon it pushes images, and reports an error for a local image", () => {
    const buildah = noting('buildah');
    bring('y.tar', { reference: 'a/b:1', push: true }, buildah.builder);
    expect(() => bring('x.tar', { reference: 'b:1', push: false }, buildah.builder)).toThrow(
      'skaffold deploy --images',
    );
    expect(buildah.done).toEqual(['push y.tar as a/b:1']);
  });

  it('builds every artifact, and its dependencies exist', () => {
    const builds = [config.build, ...config.profiles.map(({ build }: { build?: object }) => build ?? {})];
    const artifacts = builds.flatMap(({ artifacts }) => artifacts ?? []);
    expect(artifacts.length).toBeGreaterThan(4);
    const kinds: Record<string, string> = {
      'headset-cloud': '',
      'headset-cloud-test': ' TEST=1',
      'headset-cloud-dev': ' DEV=1',
      'headset-cloud-site': ' SITE=1',
    };
    for (const { image, custom } of artifacts) {
      const kind = kinds[image];
      expect(custom.buildCommand).toBe(`make skaffold-image${kind}`);
      for (const path of custom.dependencies.paths) execFileSync('test', ['-e', join(root, path)]);
    }
    expect(readFileSync(join(root, 'Makefile'), 'utf8')).toMatch(/^skaffold-image:/m);
  });
});
