import { deviceLinkConfig } from '@headset-cloud/device-link/config.ts';
import { updatesConfig } from '@headset-cloud/updates/config.ts';
import { describeWith } from '../../support/skip.ts';
import { chartYaml, render, resources } from './chart.ts';
import { at, refusals, type Wrong } from './refusals.ts';
import { scenarios } from './scenarios.ts';
import { chartSettings, ownSettings } from './settings.ts';

const digestless = { digest: '', tag: 'v1' };

describeWith(['helm'], 'wrong values stop an installation in production', () => {
  refusals('production', [
    ['no image', { image: { repository: '' } }, 'image.repository is missing: name the image'],
    [
      'a tag instead of a digest',
      { image: digestless },
      'image.digest is missing: production runs images by digest',
    ],
    [
      'a digest that is none',
      { image: { digest: 'sha256:12' } },
      'image.digest is "sha256:12": give sha256: and 64 hexadecimal digits',
    ],
    ['an unknown value', { gatway: {} }, "additional properties 'gatway' not allowed"],
    ['an unknown value deeper', { kafka: { broker: 'a:1' } }, "at '/kafka'", "'broker' not allowed"],
    [
      'no MongoDB',
      { secrets: { mongodbUri: { name: '' } } },
      'secrets.mongodbUri.name is missing: make a Secret whose key mongodb-uri',
    ],
    ['no secret key', { secrets: { secretKey: { name: '' } } }, 'secrets.secretKey.name is missing'],
    ['no admin token', { secrets: { adminToken: { name: '' } } }, 'secrets.adminToken.name is missing'],
    [
      'a secret instead of its name',
      { secrets: { secretKey: 'abcdef' } },
      "'/secrets/secretKey'",
      'got string, want object',
    ],
    [
      'two sources of the headsets’ certificate',
      { headsets: { tls: { secret: 'a', issuer: { name: 'b' }, hosts: ['c.example.com'] } } },
      'headsets.tls.issuer.name and headsets.tls.secret exclude each other',
    ],
    [
      'a certificate for no host',
      { headsets: { tls: { issuer: { name: 'b' } } } },
      'headsets.tls.hosts is missing: name the host',
    ],
    ['no Kafka', { kafka: { brokers: '' } }, 'kafka.brokers is missing: name bootstrap brokers'],
    [
      'two replicas of topics',
      { kafka: { replicationFactor: 2 } },
      'kafka.replicationFactor is 2: production needs 3',
    ],
    [
      'a user of Kafka without a password',
      { kafka: { sasl: { mechanism: 'scram-sha-512', username: 'cloud' } } },
      'secrets.kafkaPassword.name is missing, but kafka.sasl.mechanism is scram-sha-512',
    ],
    [
      'a password of Kafka that is readable on the network',
      {
        kafka: { sasl: { mechanism: 'plain', username: 'cloud' } },
        secrets: { kafkaPassword: { name: 'kafka' } },
      },
      'kafka.sasl.mechanism is plain without kafka.tls',
    ],
    [
      'an unused password of Kafka',
      { secrets: { kafkaPassword: { name: 'kafka' } } },
      'kafka.sasl.mechanism is none, but a user or its password is given',
    ],
    ['no bucket', { s3: { bucket: '' } }, 's3.bucket is missing: name the bucket'],
    [
      'a bucket without credentials',
      { secrets: { s3Credentials: { name: '' } } },
      's3.bucket is set without credentials',
    ],
    ['no issuer', { oidc: { issuer: '' } }, 'oidc.issuer is missing'],
    [
      'an issuer without TLS',
      { oidc: { issuer: 'http://id.example.com' } },
      'oidc.issuer is http://id.example.com: production requires https',
    ],
    ['no audience', { oidc: { audience: '' } }, 'oidc.audience is missing'],
    ['stores of a trial', { trial: { stores: true } }, 'trial.stores is set without trial.enabled'],
    [
      'development in pods',
      { trial: { development: true } },
      'trial.development is set without trial.enabled',
    ],
    ['the Secret of a trial', { trial: { secret: 'own' } }, 'trial.secret is set without trial.enabled'],
    ['the issuer of a trial', { trial: { issuer: true } }, 'trial.issuer is set without trial.enabled'],
    [
      'callbacks to private addresses',
      { callbacks: { allowAddresses: ['10.0.0.0/8'] } },
      'callbacks.allowAddresses is for trials',
    ],
    [
      'credentials of a proxy that is not named',
      { secrets: { egressProxyCredentials: { name: 'proxy' } } },
      'secrets.egressProxyCredentials.name is set without egressProxy.url: name the proxy',
    ],
    [
      'credentials in the address of the proxy',
      { egressProxy: { url: 'http://user:password@proxy.example.com' } },
      'egressProxy.url has a user or password in it',
      'name it in secrets.egressProxyCredentials.name',
    ],
    ...['s3.endpoint', 's3.publicEndpoint', 'oidc.issuer', 'oidc.jwksUri', 'tracesEndpoint'].map(
      (path): Wrong => [
        `credentials in ${path}`,
        at(path, 'https://u:p@example.com'),
        `${path} has a user or password in it`,
      ],
    ),
    ...['oidc.issuer', 's3.endpoint', 'egressProxy.url', 'tracesEndpoint'].map(
      (path): Wrong => [
        `a port that does not exist in ${path}`,
        at(path, 'https://example.com:99999'),
        `'/${path.replace('.', '/')}'`,
        'does not match pattern',
      ],
    ),
    ...['999.1.1.1/8', '10.0.0.0/33', '10.0.0/8', '10.0.0.0', 'fd00::/129', '::1', '010.0.0.0/8'].map(
      (network): Wrong => [
        `the network ${network}`,
        { headsets: { sourceRanges: [network] } },
        "'/headsets/sourceRanges/0'",
      ],
    ),
    [
      'networks of headsets without an effect',
      { headsets: { type: 'NodePort', sourceRanges: ['203.0.113.0/24'] } },
      'headsets.sourceRanges is set, but headsets.type is NodePort',
    ],
    [
      'a ServiceMonitor that the NetworkPolicies keep out',
      { networkPolicy: { scrapes: [] } },
      'networkPolicy.scrapes is empty, but monitoring.serviceMonitor is set: name the pods of Prometheus',
    ],
    ['no pod of a component', { components: { devices: { replicas: 0 } } }, "'/components/devices/replicas'"],
    [
      'a text that names more than the registry’s Secret',
      { imagePullSecrets: ['registry\n      hostNetwork: true'] },
      "'/imagePullSecrets/0'",
    ],
    [
      'exceptions in one text',
      { egressProxy: { except: ['a.internal,b.internal'] } },
      "'/egressProxy/except/0'",
    ],
    [
      'more consumers than partitions',
      { components: { notifier: { replicas: 9 } } },
      'notifier may have 9 replicas, but topics have 8 partitions',
    ],
    [
      'autoscaling beyond the partitions',
      { components: { devices: { maxReplicas: 12 } } },
      'devices may have 12 replicas, but topics have 8 partitions',
    ],
    [
      'autoscaling below the replicas',
      { components: { gateway: { replicas: 4, maxReplicas: 3 } } },
      'components.gateway.maxReplicas (3) is below components.gateway.replicas (4)',
    ],
    [
      'autoscaling of what follows events',
      { components: { billing: { maxReplicas: 3 } } },
      "'/components/billing'",
      "'maxReplicas' not allowed",
    ],
    [
      'no memory limit',
      { components: { billing: { resources: { limits: { memory: null } } } } },
      "'/components/billing/resources/limits'",
      "missing property 'memory'",
    ],
    [
      'a unit of memory that Kubernetes does not know',
      { components: { billing: { resources: { limits: { memory: '512000K' } } } } },
      "'/components/billing/resources/limits/memory'",
    ],
    [
      'more memory requested than allowed',
      { components: { billing: { resources: { requests: { memory: '1Gi' } } } } },
      'components.billing.resources.requests.memory (1Gi) is above limits.memory (384Mi)',
    ],
    [
      'no replica',
      { components: { billing: { replicas: 0 } } },
      "'/components/billing/replicas'",
      'got 0, want 1',
    ],
    [
      'a switch that is neither on nor off',
      { components: { 'device-link': { settings: { DEVICE_LINK_PROXY_PROTOCOL: 'maybe' } } } },
      "'/components/device-link/settings/DEVICE_LINK_PROXY_PROTOCOL'",
    ],
    ['a key that no Secret can have', { secrets: { secretKey: { key: '..' } } }, "'/secrets/secretKey/key'"],
    [
      'memory without a unit',
      { components: { billing: { resources: { limits: { memory: '512' } } } } },
      "'/components/billing/resources/limits/memory'",
    ],
    [
      'a setting of another component',
      { components: { billing: { settings: { NOTIFIER_MAX_AGE_HOURS: 1 } } } },
      "'NOTIFIER_MAX_AGE_HOURS' not allowed",
    ],
    [
      'a setting that is too small for production',
      { components: { notifier: { settings: { NOTIFIER_LEASE_MS: 100 } } } },
      "'/components/notifier/settings/NOTIFIER_LEASE_MS'",
      'minimum: got 100, want 3,000',
    ],
    [
      'a level that does not exist',
      { settings: { LOG_LEVEL: 'loud' } },
      "'/settings/LOG_LEVEL'",
      'must be one of',
    ],
    [
      'a grace that is too short',
      { terminationGracePeriodSeconds: 5 },
      "'/terminationGracePeriodSeconds'",
      'minimum: got 5, want 20',
    ],
    [
      'a way in without a host',
      { expose: { api: { host: '' } } },
      'expose.api.host is missing, but expose.kind is ingress',
    ],
    ['routes without their Gateway', { expose: { kind: 'gateway' } }, 'expose.gateway.name is missing'],
    [
      'a host of a site that is off',
      { site: { enabled: false } },
      'expose.site.host is set, but the site is off',
    ],
    ...(['ingress', 'gateway'] as const).map(
      (kind): Wrong => [
        `API and site at one host (${kind})`,
        {
          expose: {
            kind,
            gateway: { name: 'public' },
            site: { host: 'api.example.com', tlsSecret: 'api-tls' },
          },
        },
        'expose.site.host and expose.api.host are both api.example.com, and both serve every path: give the site a separate host',
      ],
    ),
    ...(['api', 'site'] as const).map(
      (other): Wrong => [
        `two certificates for the host of Sora’s webhooks and of ${other}`,
        { expose: { [other]: { host: 'sora.example.com' } } },
        `expose.sora.tlsSecret (sora-tls) and expose.${other}.tlsSecret`,
        'differ, but both are for sora.example.com: name the same Secret in both',
      ],
    ),
    [
      'a peer that selects nothing',
      { networkPolicy: { kafka: { to: [{}] } } },
      "'/networkPolicy/kafka/to/0'",
    ],
    ['a network that is none', { headsets: { sourceRanges: ['everywhere'] } }, "'/headsets/sourceRanges/0'"],
  ]);

  it('are all reported at once, each with its path', () => {
    const refused = () => render({});
    for (const path of [
      'image.repository',
      'secrets.mongodbUri.name',
      'kafka.brokers',
      's3.bucket',
      'oidc.issuer',
    ]) {
      expect(refused).toThrow(`- ${path} is missing`);
    }
  });

  it.each(['1st', 'a.b', 'a-'])('a release that is called %s', (release) => {
    expect(() => render({ ...scenarios['production'], release })).toThrow(/release|Release/);
  });

  it.each(['10.0.0.0/8', '0.0.0.0/0', '255.255.255.255/32', 'fd00::/8', '::/0', '2001:db8:0:1::/64'])(
    'but not the network %s',
    (network) => {
      const values = { headsets: { sourceRanges: [network] } };
      expect(render({ ...scenarios['production'], values })).toContain(network);
    },
  );

  it.each(['ingress', 'gateway'])(
    'but not Sora’s webhooks by their path at the host of the API (%s)',
    (kind) => {
      const sora = { host: 'api.example.com', tlsSecret: 'api-tls' };
      const values = { expose: { kind, gateway: { name: 'public' }, sora } };
      const ways = resources({ ...scenarios['production'], values })
        .filter((resource) => ['Ingress', 'HTTPRoute'].includes(resource.kind))
        .map(({ spec: { hostnames, rules } }) => [
          hostnames?.[0] ?? rules[0].host,
          rules[0].matches?.[0].path.value ?? rules[0].http.paths[0].path,
        ]);
      // The longest path decides.
      expect(ways).toEqual([
        ['api.example.com', '/'],
        ['api.example.com', '/webhooks/sora/'],
        ['docs.example.com', '/'],
      ]);
    },
  );

  /** Helm's error for the values; empty if it accepts them. */
  const saidTo = (values: unknown) => {
    try {
      render({ ...scenarios['production'], values });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  describe('disk space for the check of uploads', () => {
    const { UPDATES_CHECKS_AT_ONCE: atOnce, UPDATES_MAX_BYTES: maxBytes } = updatesConfig;
    const updates = (tempSize: string, settings: object = {}) => ({
      components: { updates: { tempSize, settings } },
    });
    /** Overhead of a file system for a file of the maximum size. */
    const own = 2 ** 20;

    it.each([
      ['as the services have them', atOnce.default, maxBytes.default, {}],
      ['more checks at a time', 8, maxBytes.default, { UPDATES_CHECKS_AT_ONCE: 8 }],
      ['larger files', atOnce.default, 5_368_709_120, { UPDATES_MAX_BYTES: 5_368_709_120 }],
      ['both', 3, 3 * 2 ** 30, { UPDATES_CHECKS_AT_ONCE: 3, UPDATES_MAX_BYTES: 3 * 2 ** 30 }],
    ])('is what the settings allow, or more: %s', (_, checks, bytes, settings) => {
      const least = (checks * (bytes + own)) / 1024;
      expect(saidTo(updates(`${least}Ki`, settings))).toBe('');
      expect(saidTo(updates(`${least - 1}Ki`, settings))).toContain(
        `components.updates.tempSize is ${least - 1}Ki, but ${checks} files of ${bytes} bytes are checked at a time ` +
          `(UPDATES_CHECKS_AT_ONCE, UPDATES_MAX_BYTES), and the kubelet would evict the pod: raise it to at least ${Math.ceil(least / 1024)}Mi, or lower these settings`,
      );
    });

    it('is not checked if the files are on the disk already', () => {
      const values = updates('100Mi');
      expect(() => render({ ...scenarios['trial'], values })).not.toThrow();
    });
  });

  it('a boolean setting may be a YAML boolean', () => {
    const values = {
      components: { 'device-link': { settings: { DEVICE_LINK_PROXY_PROTOCOL: true } } },
    };
    expect(render({ ...scenarios['production'], values })).toContain(
      '{name: DEVICE_LINK_PROXY_PROTOCOL, value: "true"}',
    );
  });

  it.each([
    ['below its least', -1],
    ['above its most', 1],
  ])('every number of the components that is %s', (_, by) => {
    const bounded = Object.entries(ownSettings).flatMap(([component, spec]) =>
      Object.entries(spec as Record<string, { min?: number; max?: number; productionMin?: number }>)
        .filter(([key, { min }]) => min !== undefined && !chartSettings.has(key))
        .map(([key, { min = 0, max = 0, productionMin = min }]) => ({
          component,
          key,
          value: by < 0 ? productionMin - 1 : max + 1,
        })),
    );
    expect(bounded.length).toBeGreaterThan(40);
    const settingsOf = (wanted: string) =>
      bounded.filter(({ component }) => component === wanted).map(({ key, value }) => [key, value]);
    const components = Object.fromEntries(
      Object.keys(ownSettings).map((name) => [name, { settings: Object.fromEntries(settingsOf(name)) }]),
    );
    const said = saidTo({ components });
    const taken = bounded.filter((it) => !said.includes(`'/components/${it.component}/settings/${it.key}'`));
    expect(taken).toEqual([]);
  });

  it('a release with a name that is too long', () => {
    expect(() => render({ ...scenarios['production'], release: 'r'.repeat(41) })).toThrow('take at most 40');
  });
});

describeWith(['helm'], 'wrong values stop a trial', () => {
  refusals('trial', [
    ['two brokers', { kafka: { brokers: 'a:1' } }, 'kafka.brokers and trial.stores exclude each other'],
    [
      'two issuers',
      { oidc: { issuer: 'https://id.example.com' } },
      'oidc.issuer and trial.issuer exclude each other',
    ],
    [
      'the name of the Secret that the chart makes',
      { trial: { secret: 'trial-trial' } },
      'trial.secret is trial-trial, which is the chart',
      'own: give yours another name',
    ],
    ['no test image', { trial: { image: { repository: '' } } }, 'trial.image.repository is missing'],
    [
      'two pods with files of their own',
      { components: { updates: { replicas: 2 } } },
      'components.updates.replicas is 2',
    ],
  ]);

  it('workload identity may replace S3 credentials', () => {
    const values = {
      secrets: { s3Credentials: { name: '' } },
      components: { updates: { serviceAccountAnnotations: { 'example.com/role': 'updates' } } },
    };
    expect(render({ ...scenarios['production'], values })).not.toContain('AWS_SHARED_CREDENTIALS');
  });
});

describeWith(['helm'], 'a value that was removed by null', () => {
  type Path = readonly string[];
  const isMap = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  const paths = (value: unknown, at: Path = []): Path[] =>
    isMap(value)
      ? Object.entries(value).flatMap(([key, inner]) => [[...at, key], ...paths(inner, [...at, key])])
      : [];
  const all = paths(chartYaml('values.yaml'));
  const depths = [...new Set(all.map(({ length }) => length))];

  /** The values with null at each of the paths. */
  const without = (removed: readonly Path[]) => {
    const values: Record<string, unknown> = {};
    for (const path of removed) {
      let at = values;
      for (const name of path.slice(0, -1)) {
        const inner = at[name] ?? {};
        at[name] = inner;
        at = inner as Record<string, unknown>;
      }
      at[path.at(-1) as string] = null;
    }
    return values;
  };

  // A section without uncommented lines is null.
  it.each(depths)('is reported with its path, not as a template error (depth %i)', (depth) => {
    const removed = all.filter(({ length }) => length === depth);
    expect(removed.length).toBeGreaterThan(5);
    const said = () => {
      try {
        return render({ ...scenarios['production'], values: without(removed) });
      } catch (error) {
        return String(error);
      }
    };
    const missing = said()
      .split('\n')
      .flatMap((line) => {
        const [, at, names = ''] = /^ *- at '(.*)': missing propert(?:y|ies) (.*)$/.exec(line) ?? [];
        return [...names.matchAll(/'([^']+)'/g)].map(([, name]) => `${at}/${name}`);
      });
    expect(missing.sort()).toEqual(removed.map((path) => ['', ...path].join('/')).sort());
  });
});

test('device-link’s memory is enough for its maximum number of headsets', () => {
  const { limits } = chartYaml('values.yaml').components['device-link'].resources;
  // Measured: the maximum of an idle process, and a headset with TLS (docs/sizing.md).
  const [idleKiB, headsetKiB] = [218 * 1024, 105];
  const needsKiB = idleKiB + deviceLinkConfig.DEVICE_LINK_MAX_SESSIONS.default * headsetKiB;
  expect(limits.memory).toMatch(/^\d+Mi$/);
  expect(Number.parseInt(limits.memory, 10) * 1024).toBeGreaterThan(needsKiB);
});
