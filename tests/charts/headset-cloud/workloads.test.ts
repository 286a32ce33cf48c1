import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { describeWith } from '../../support/skip.ts';
import { chartFolder, chartYaml, componentOf, type Resource, resources } from './chart.ts';
import { everything, scenarios } from './scenarios.ts';
import { ownSettings, sealing } from './settings.ts';

const production = () => resources(scenarios['production']);
const kind = (all: readonly Resource[], wanted: string) => all.filter((r) => r.kind === wanted);
const named = (all: readonly Resource[], wanted: string, component: string): Resource => {
  const found = kind(all, wanted).find((r) => componentOf(r.metadata.labels) === component);
  if (!found) throw new Error(`There is no ${wanted} of ${component}.`);
  return found;
};

/** Pods of every kind of workload. */
const pods = (all: readonly Resource[]) =>
  all
    .filter((r) => ['Deployment', 'StatefulSet', 'Job', 'CronJob'].includes(r.kind))
    .map(
      (r) => [componentOf(r.metadata.labels), (r['spec'].jobTemplate ?? r)['spec'].template.spec] as const,
    );

const mebibytes = (quantity: string) => Number.parseInt(quantity, 10) * (quantity.endsWith('Gi') ? 1024 : 1);

describeWith(['helm'], 'workloads', () => {
  const components = [...Object.keys(ownSettings), 'site'];

  it.each(Object.keys(scenarios))(
    '%s: every pod complies with restricted Pod Security, and only one pod has a token',
    (scenario) => {
      for (const [component, pod] of pods(resources(scenarios[scenario]))) {
        expect(pod).toMatchObject({
          // Creates a trial's Secrets with certificates, through the API server.
          automountServiceAccountToken: component === 'trial-certificates',
          enableServiceLinks: false,
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        });
        expect(pod.securityContext.runAsUser).toBeGreaterThan(0);
        for (const container of [...pod.containers, ...(pod.initContainers ?? [])]) {
          expect(container.securityContext).toMatchObject({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: !container.image.startsWith('apache/kafka:'),
            capabilities: { drop: ['ALL'] },
          });
          expect(container.resources.requests).toMatchObject({
            cpu: expect.any(String),
            memory: expect.any(String),
          });
          expect(container.resources.limits.memory).toEqual(expect.any(String));
        }
      }
    },
  );

  // protects against supply/image-rights
  it('no ServiceAccount has a token, and only updates may have an identity', () => {
    const accounts = kind(resources(scenarios['production, everything on']), 'ServiceAccount');
    expect(accounts.map((r) => componentOf(r.metadata.labels)).sort()).toEqual(
      [...components, 'operator', 'prepare'].sort(),
    );
    expect(accounts.filter((r) => r['automountServiceAccountToken'] !== false)).toEqual([]);
    const known = accounts.filter((r) => (r.metadata as { annotations?: unknown }).annotations);
    expect(known.map((r) => componentOf(r.metadata.labels))).toEqual(['updates']);
  });

  it.each(components)(
    '%s stops within its grace period, is evicted one pod at a time, and is spread over nodes',
    (component) => {
      const all = production();
      const { spec } = named(all, 'Deployment', component)['spec'].template;
      const [container] = spec.containers;
      const setting = (name: string) =>
        Number(container.env.find((e: { name: string }) => e.name === name)?.value ?? 0) / 1000;
      const pause = container.lifecycle.preStop.sleep.seconds;
      expect(pause).toBeGreaterThan(0);
      expect(spec.terminationGracePeriodSeconds).toBe(60);
      expect(pause + setting('STOP_DELAY_MS') + setting('STOP_GRACE_MS')).toBeLessThan(60);
      for (const probe of ['startupProbe', 'livenessProbe'])
        expect(container[probe].httpGet).toEqual({ path: '/livez', port: 'admin' });
      expect(container.startupProbe.periodSeconds * container.startupProbe.failureThreshold).toBe(300);
      expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' });
      expect(named(all, 'PodDisruptionBudget', component)['spec'].maxUnavailable).toBe(1);
      const keys = spec.topologySpreadConstraints.map((c: { topologyKey: string }) => c.topologyKey);
      expect(keys).toEqual(['kubernetes.io/hostname', 'topology.kubernetes.io/zone']);
    },
  );

  it('in development each process watches writable sources, and restarts at once', () => {
    const all = resources(scenarios['trial in development']);
    for (const component of components.filter((name) => name !== 'site')) {
      const { spec } = named(all, 'Deployment', component)['spec'].template;
      const [container] = spec.containers;
      expect(container.args.slice(0, -1)).toEqual(['--watch', '--watch-preserve-output']);
      const written = container.volumeMounts.filter((m: { name: string }) => m.name === 'sources');
      expect(written.map((m: { mountPath: string }) => m.mountPath)).toEqual(
        ['gateway', 'proto', 'services'].map((folder) => `/app/${folder}`),
      );
      expect(spec.initContainers[0].volumeMounts[0]).toEqual({ name: 'sources', mountPath: '/sources' });
      expect(container.env).toContainEqual({ name: 'STOP_DELAY_MS', value: '0' });
      expect(container.env).toContainEqual({ name: 'STOP_GRACE_MS', value: '2000' });
    }
    // Pods other than components run to completion.
    expect(pods(all).filter(([, pod]) => pod.containers[0].args?.includes('--watch'))).toHaveLength(
      components.length - 1,
    );
  });

  it('the grace period follows the stop limit', () => {
    const all = resources({ ...scenarios['production'], values: { terminationGracePeriodSeconds: 120 } });
    for (const component of ['devices', 'site']) {
      const [container] = named(all, 'Deployment', component)['spec'].template.spec.containers;
      expect(container.env).toContainEqual({ name: 'STOP_GRACE_MS', value: '105000' });
    }
  });

  it.each(components)('%s has a heap within its memory limit', (component) => {
    const [container] = named(production(), 'Deployment', component)['spec'].template.spec.containers;
    expect(container.env).toContainEqual({
      name: 'NODE_OPTIONS',
      value: '--max-old-space-size-percentage=65',
    });
    // Memory outside the heap - code, buffers, stacks - was at most 110 MiB of the 218 MiB measured.
    const limit = mebibytes(container.resources.limits.memory);
    if (component !== 'site') expect(limit * 0.35).toBeGreaterThan(110);
    expect(limit).toBeGreaterThan(mebibytes(container.resources.requests.memory));
  });

  it.each(Object.keys(ownSettings).filter((name) => name !== 'gateway'))(
    '%s has a headless Service with its gRPC port',
    (component) => {
      const service = named(production(), 'Service', component);
      expect(service['spec'].clusterIP).toBe('None');
      expect(service['spec'].ports.map((p: { port: number }) => p.port)).toEqual(
        expect.arrayContaining([9000, 9100]),
      );
      expect(service['spec'].publishNotReadyAddresses).toBeUndefined();
    },
  );

  it('autoscaling controls gateway, devices and transactions; their Deployments then have no replicas', () => {
    const all = production();
    const scaled = kind(all, 'HorizontalPodAutoscaler').map((r) => componentOf(r.metadata.labels));
    expect(scaled.sort()).toEqual(['devices', 'gateway', 'transactions']);
    for (const component of components) {
      expect('replicas' in named(all, 'Deployment', component)['spec']).toBe(!scaled.includes(component));
    }
    const fixed = resources({
      ...scenarios['production'],
      values: { components: { gateway: { maxReplicas: 0 } } },
    });
    expect(named(fixed, 'Deployment', 'gateway')['spec'].replicas).toBe(2);
  });

  it('consumers are the services that subscribe to the event log', () => {
    const subscribes = (service: string) =>
      readFileSync(join(root, 'services', service, 'src/build.ts'), 'utf8').includes('log.subscribe(');
    const services = Object.keys(ownSettings).filter((name) => name !== 'gateway');
    const own = chartYaml('files/components.yaml') as Record<string, { consumes?: boolean }>;
    expect(services.filter((name) => own[name]?.consumes).sort()).toEqual(services.filter(subscribes).sort());
  });

  it.each(Object.keys(scenarios))(
    '%s: each pod mounts only the secrets that it reads, and none is in its environment',
    (scenario) => {
      const all = scenario.endsWith('everything on');
      const others = all ? ['SECRET_KEY_OTHERS'] : [];
      const kafka = all ? ['KAFKA_SASL_PASSWORD'] : [];
      const tokens = all ? ['ADMIN_TOKEN', 'ADMIN_TOKEN_BEFORE', 'METRICS_TOKEN'] : ['ADMIN_TOKEN'];
      const secretsOf: Record<string, string[]> = {
        gateway: tokens,
        site: tokens,
        operator: ['ADMIN_TOKEN'],
        'core-loop': ['ADMIN_TOKEN'],
        prepare: ['MONGODB_URI', ...kafka],
      };
      const callers = ['gateway', 'updates', 'communication', 'notifier'];
      for (const [component, pod] of pods(resources(scenarios[scenario]))) {
        expect(JSON.stringify(pod.containers)).not.toContain('secretKeyRef');
        if (component.startsWith('trial-')) continue;
        const sources = pod.volumes.find((v: { name: string }) => v.name === 'secrets').projected.sources;
        const paths = sources.map((s: { secret: { items: { path: string }[] } }) => s.secret.items[0]?.path);
        const aws =
          component === 'updates' && scenario.startsWith('production') ? ['AWS_SHARED_CREDENTIALS'] : [];
        const proxy =
          callers.includes(component) && scenario.endsWith('proxy') ? ['EGRESS_PROXY_CREDENTIALS'] : [];
        const own = secretsOf[component] ?? [
          ...tokens,
          'MONGODB_URI',
          ...(sealing.has(component) ? ['SECRET_KEY', ...others] : []),
          ...kafka,
          ...aws,
        ];
        expect(paths).toEqual([...own, ...proxy]);
      }
    },
  );

  it('only the services that encrypt values have the key', () => {
    const seals = (service: string) =>
      readFileSync(join(root, 'services', service, 'src/definition.ts'), 'utf8').includes(
        'defineSealingService(',
      );
    const services = Object.keys(ownSettings).filter((name) => name !== 'gateway');
    const own = chartYaml('files/components.yaml') as Record<string, { seals?: boolean }>;
    expect(services.filter(seals).sort()).toEqual([...sealing].sort());
    expect(services.filter((name) => own[name]?.seals).sort()).toEqual([...sealing].sort());
  });

  it('every service has the key if the values enable it, for processes of release 0.1.0', () => {
    const values = { secrets: { secretKeyForAll: true } };
    for (const [component, pod] of pods(resources({ ...scenarios['production'], values }))) {
      const { sources } = pod.volumes.find((v: { name: string }) => v.name === 'secrets').projected;
      const has = JSON.stringify(sources).includes('"path":"SECRET_KEY"');
      expect([component, has]).toEqual([component, component !== 'gateway' && component in ownSettings]);
    }
  });

  it('Prometheus reads metrics with the metrics token if there is one', () => {
    const tokenIn = (scenario: string) =>
      kind(resources(scenarios[scenario]), 'ServiceMonitor')[0]?.['spec'].endpoints[0].authorization
        .credentials.key;
    expect(tokenIn('production, everything on')).toBe('metrics-token');
    expect(tokenIn('production')).toBe('admin-token');
  });

  it('operators reach every pod by its own address, ready or not, and Prometheus scrapes none twice', () => {
    const services = kind(resources(scenarios['production, everything on']), 'Service');
    const named = (suffix: string) =>
      new Map(services.map((one) => [one.metadata.name, one['spec']] as const)).get(`trial-${suffix}`);
    for (const component of Object.keys(ownSettings)) {
      const [own, forOperators] = [named(component), named(`${component}-admin`)];
      expect(forOperators).toEqual({
        ...{ clusterIP: 'None', publishNotReadyAddresses: true, selector: own?.selector },
        ports: [{ name: 'operators', port: 9100, protocol: 'TCP', targetPort: 'admin' }],
      });
    }
    expect(named('site-admin')).toBeUndefined();
  });

  it('production creates no Secret', () => {
    expect(kind(resources(scenarios['production, everything on']), 'Secret')).toEqual([]);
  });

  it('a new revision of the secrets rolls every pod', () => {
    const templates = (revision: string) => {
      const all = resources({ ...scenarios['production'], values: { secrets: { revision } } });
      return kind(all, 'Deployment').map((r) => JSON.stringify(r['spec'].template));
    };
    const before = templates('1');
    expect(templates('2').filter((template) => before.includes(template))).toEqual([]);
    expect(templates('1')).toEqual(before);
  });

  it("the Job's name changes if, and only if, its specification changes", () => {
    const job = (values: unknown) => {
      const [found] = kind(resources({ ...scenarios['production'], values }), 'Job');
      return { name: found?.metadata.name, spec: JSON.stringify(found?.['spec']) };
    };
    const first = job({});
    expect(job({ components: { devices: { replicas: 3 } } })).toEqual(first);
    // The Job may have failed because of a Secret that is fixed now.
    expect(job({ secrets: { revision: '2' } }).name).not.toBe(first.name);
    const other = job({ kafka: { partitions: 16 } });
    expect(other.name).not.toBe(first.name);
    expect(other.spec).not.toBe(first.spec);
    expect(first.name).toMatch(/^trial-prepare-[0-9a-f]{10}$/);
  });

  it('the only hook in production is the pod of `helm test`, which queries every process', () => {
    const hooks = production().filter(({ metadata }) => JSON.stringify(metadata).includes('helm.sh/hook'));
    expect(hooks.map(({ kind: of, metadata }) => `${of} ${metadata.name}`)).toEqual(['Pod trial-status']);
    const [container] = hooks[0]?.['spec'].containers ?? [];
    expect(container.args).toEqual(['services/ctl/src/main.ts', 'status']);
    const asked = container.env.map(({ name }: { name: string }) => name);
    for (const component of Object.keys(ownSettings))
      expect(asked).toContain(`${component.toUpperCase().replaceAll('-', '_')}_ADMIN`);
  });

  it('the pods of `helm test` stay until the next one: Helm deletes first, and reads the log for --logs then', () => {
    const pods = kind(resources(scenarios['trial']), 'Pod');
    expect(pods.map(({ metadata }) => metadata.name).sort()).toEqual(['trial-core-loop', 'trial-status']);
    const annotations = {
      'helm.sh/hook': 'test',
      'helm.sh/hook-delete-policy': 'before-hook-creation',
    };
    for (const { metadata } of pods) expect(metadata).toMatchObject({ annotations });
    // The status pod first: Helm stops at the first failure, and reads the logs of all pods, also of an earlier run.
    const status = pods.find(({ metadata }) => metadata.name === 'trial-status');
    expect(status?.metadata).toMatchObject({ annotations: { 'helm.sh/hook-weight': '-1' } });
  });

  it('a trial’s certificates for another domain have other Secrets, because existing Secrets are kept', () => {
    const secretsOf = (domain?: string) => {
      const all = resources({ ...scenarios['trial'], ...(domain && { values: { rpcTls: { domain } } }) });
      return [...new Set(JSON.stringify(all).match(/trial-trial-rpc(-[0-9a-f]{8})?-devices/g))];
    };
    expect(secretsOf()).toEqual(['trial-trial-rpc-devices']);
    const [other, ...more] = secretsOf('other.internal');
    expect([other, more]).toEqual([expect.stringMatching(/-rpc-[0-9a-f]{8}-devices$/), []]);
    expect(secretsOf('another.internal')).not.toContain(other);
  });

  it('device-link advertises the address of its pod, and headsets reach it through layer 4', () => {
    const all = production();
    const [container] = named(all, 'Deployment', 'device-link')['spec'].template.spec.containers;
    expect(container.env[0]).toEqual({
      name: 'POD_IP',
      valueFrom: { fieldRef: { fieldPath: 'status.podIP' } },
    });
    expect(container.env).toContainEqual({ name: 'ADVERTISE_ADDRESS', value: '$(POD_IP):9000' });
    const headsets = named(all, 'Service', 'headsets')['spec'];
    expect(headsets).toMatchObject({ type: 'LoadBalancer', externalTrafficPolicy: 'Local' });
    expect(componentOf(headsets.selector)).toBe('device-link');
    expect(headsets.ports[0].targetPort).toBe('headsets');
  });

  it('API, site and webhooks are reached by Ingress or by HTTPRoute', () => {
    for (const [scenario, kindOf] of [
      ['production', 'Ingress'],
      ['production behind a Gateway', 'HTTPRoute'],
    ] as const) {
      const found = kind(resources(scenarios[scenario]), kindOf);
      expect(found.map((r) => componentOf(r.metadata.labels)).sort()).toEqual([
        'communication',
        'gateway',
        'site',
      ]);
      const hosts = found.map((r) => r['spec'].hostnames?.[0] ?? r['spec'].rules[0].host);
      expect(hosts.sort()).toEqual(['api.example.com', 'docs.example.com', 'sora.example.com']);
    }
  });

  it('a pod’s ephemeral storage includes its volume of uploads; other limits do not change it', () => {
    const storage = (component: string, values: unknown) => {
      const all = resources({ ...scenarios['production'], values: { components: values } });
      const [container] = named(all, 'Deployment', component)['spec'].template.spec.containers;
      const { requests, limits } = container.resources;
      return [requests['ephemeral-storage'], limits['ephemeral-storage']];
    };
    const logs = 256 * 2 ** 20;
    expect(storage('updates', {})).toEqual(['64Mi', String(4 * 2 ** 30 + logs)]);
    expect(storage('updates', { updates: { tempSize: '2900M' } })).toEqual(['64Mi', String(2900e6 + logs)]);
    const resourcesOfItsOwn = {
      requests: { cpu: '1', memory: '1Gi' },
      limits: { cpu: '2', memory: '2Gi' },
    };
    expect(storage('billing', { billing: { resources: resourcesOfItsOwn } })).toEqual(['64Mi', '256Mi']);
  });

  it('uploads are checked in a volume with a limit, which is UPDATES_TEMP_DIR', () => {
    const { spec } = named(production(), 'Deployment', 'updates')['spec'].template;
    expect(spec.volumes).toContainEqual({ name: 'uploads', emptyDir: { sizeLimit: '4Gi' } });
    const [{ env, volumeMounts }] = spec.containers;
    const folder = env.find((e: { name: string }) => e.name === 'UPDATES_TEMP_DIR').value;
    expect(volumeMounts).toContainEqual({ name: 'uploads', mountPath: folder });
  });

  it('every entry is a file, and every image in production has its digest', () => {
    const entries = new Set(readdirSync(join(root, 'services')));
    for (const [component, pod] of pods(production())) {
      const [container] = pod.containers;
      expect(container.image).toMatch(/@sha256:[0-9a-f]{64}$/);
      const [entry] = container.args ?? [];
      // services/prepare exists since the numbered steps of the database.
      if (
        component === 'site' ||
        component === 'operator' ||
        (component === 'prepare' && !entries.has('prepare'))
      )
        continue;
      expect(readFileSync(join(root, entry), 'utf8')).toContain('main(');
    }
  });

  it('custom authorities and a trace collector reach every process of the platform', () => {
    const all = resources({ ...scenarios['production'], values: everything });
    for (const component of Object.keys(ownSettings)) {
      const { spec } = named(all, 'Deployment', component)['spec'].template;
      expect(spec.containers[0].env).toContainEqual({
        name: 'NODE_EXTRA_CA_CERTS',
        value: '/etc/headset-cloud/ca/ca.crt',
      });
      expect(spec.containers[0].env).toContainEqual({
        name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
        value: 'http://collector.monitoring:4318',
      });
      expect(spec.volumes).toContainEqual({ name: 'ca', configMap: { name: 'authorities' } });
      expect(spec.imagePullSecrets).toEqual([{ name: 'registry' }]);
    }
  });
});

describeWith(['helm'], 'another version of the chart with the same image', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-chart-'));
    cpSync(chartFolder, folder, { recursive: true });
    const file = join(folder, 'Chart.yaml');
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(/^(version|appVersion): .*$/gm, '$1: 99.0.0-other'),
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(Object.keys(scenarios))('%s: replaces no pod and runs no Job again', (scenario) => {
    const workloads = (chart: string) =>
      resources({ ...scenarios[scenario], chart }).filter(({ kind: of }) =>
        ['Deployment', 'StatefulSet', 'Job', 'CronJob'].includes(of),
      );
    const [now, other] = [workloads(chartFolder), workloads(folder)];
    expect(now.length).toBeGreaterThan(10);
    const kept = (all: readonly Resource[]) =>
      all.map(({ metadata, spec }) => ({ name: metadata.name, spec }));
    expect(kept(other)).toEqual(kept(now));
    // The resources themselves have the version as a label.
    for (const { metadata } of other)
      expect(metadata.labels).toMatchObject({ 'helm.sh/chart': 'headset-cloud-99.0.0-other' });
  });
});

describeWith(['helm'], 'a trial', () => {
  it('uses keys, token and clients of an existing Secret, and creates a Secret if there is none', () => {
    const values = { trial: { secret: 'own' } };
    const all = resources({ ...scenarios['trial'], values });
    expect(kind(all, 'Secret').map(({ metadata, data }) => [metadata.name, Object.keys(data)])).toEqual([
      ['trial-trial', ['mongodb-uri']],
    ]);
    const taken = (component: string) =>
      pods(all)
        .filter(([name]) => name === component)
        .flatMap(([, { volumes }]) => volumes)
        .flatMap(({ projected, secret }) => [
          ...(projected?.sources ?? []).map(
            (source: { secret: { name: string; items: [{ key: string }] } }) => [
              source.secret.name,
              source.secret.items[0].key,
            ],
          ),
          ...(secret?.items ? [[secret.secretName, secret.items[0].key]] : []),
        ]);
    expect(taken('devices')).toEqual([
      ['own', 'admin-token'],
      ['trial-trial', 'mongodb-uri'],
      ['own', 'secret-key'],
    ]);
    expect(taken('trial-issuer')).toEqual([
      ['own', 'admin-token'],
      ['own', 'issuer-clients.json'],
    ]);
    expect(JSON.stringify(kind(all, 'Pod'))).not.toContain('"trial-trial"');
  });

  const millicores = (quantity: string) =>
    quantity.endsWith('m') ? Number.parseInt(quantity, 10) : Number(quantity) * 1000;

  it('fits on a node of two cores together with the cluster’s own pods, also during an upgrade', () => {
    const all = resources(scenarios['trial']).filter(({ kind: of }) => of !== 'CronJob');
    const requests = all.flatMap(({ kind: of, spec }) => {
      const pod = of === 'Pod' ? spec : spec?.template?.spec;
      const own = (pod?.containers ?? []).map((one: { resources: { requests: { cpu: string } } }) =>
        millicores(one.resources.requests.cpu),
      );
      // During an upgrade, a component has one pod more.
      const pods = (spec?.replicas ?? 1) + (spec?.strategy?.rollingUpdate?.maxSurge ?? 0);
      return own.map((one: number) => one * pods);
    });
    // Nine components, two stores, issuer, certificates, prepare, core-loop.
    expect(requests.length).toBeGreaterThanOrEqual(14);
    // A node of kind has system pods that request 950m.
    expect(requests.reduce((sum, one) => sum + one, 0)).toBeLessThan(1050);
  });
});
