import { callbackAddressesConfig } from '@headset-cloud/outbound/callback-addresses.ts';
import { egressConfig } from '@headset-cloud/outbound/egress-config.ts';
import { commonConfig } from '@headset-cloud/process/common-config.ts';
import { describeWith } from '../../support/skip.ts';
import { chartYaml, render, resources } from './chart.ts';
import { at, merged, refusals, type Wrong } from './refusals.ts';
import { scenarios } from './scenarios.ts';
import { networksPattern } from './schema-parts.ts';

/** Texts with an error-prone form: the chart's message names the valid form, with an example. */

const hosts = ['expose.api.host', 'expose.site.host', 'expose.sora.host', 'rpcTls.domain'];
const wrongHosts = [
  'a..b',
  'a.b.',
  '.a.b',
  '-a.b',
  'a-.b',
  'A.example.com',
  'https://a.example.com',
  'a.example.com:443',
  'a_b.example.com',
  `${'a'.repeat(64)}.example.com`,
];
const repositories = ['image.repository', 'site.image.repository', 'trial.image.repository'];
const wrongRepositories = [
  'headset-cloud:dev',
  'reg:5000/x:dev',
  'https://reg/x',
  'reg/x@sha256:00',
  'reg//x',
  'reg/x/',
  'reg:99999/x',
  'reg..example/x',
  'reg/X',
];

/** `value` at all of the paths. All problems are reported at once. */
const atAll = (paths: readonly string[], value: string) =>
  paths.map((path) => at(path, value)).reduce((one, other) => merged(one, other) as Record<string, unknown>);

describeWith(['helm'], 'a text of a wrong form is refused with what to write', () => {
  refusals('production', [
    ...wrongHosts.map(
      (host): Wrong => [
        `the host ${host}`,
        atAll(hosts, host),
        ...hosts.map((path) => `- ${path} is "${host}": give `),
        'a host name in small letters, without scheme, port and path, for example api.example.com',
        'a domain in small letters, without scheme, port and path, for example headset-cloud.internal',
      ],
    ),
    [
      'one of the headsets’ hosts',
      { headsets: { tls: { issuer: { name: 'public' }, hosts: ['headsets.example.com', 'a..b'] } } },
      '- headsets.tls.hosts[1] is "a..b": give a host name',
    ],
    ['an empty host of headsets', at('headsets.tls.hosts', ['']), "'/headsets/tls/hosts/0'"],
    ['a domain with a wildcard', at('rpcTls.domain', '*.internal'), 'rpcTls.domain is "*.internal"'],
    ...wrongRepositories.map(
      (name): Wrong => [
        `the repository ${name}`,
        atAll(repositories, name),
        ...repositories.map(
          (path) => `- ${path} is "${name}": give the name of the image without scheme, tag `,
        ),
        'for example registry.example.com:5000/team/headset-cloud',
      ],
    ),
    ...['sha256:12', '0'.repeat(64), `sha512:${'0'.repeat(64)}`].map(
      (digest): Wrong => [
        `image.digest=${digest}`,
        at('image.digest', digest),
        `- image.digest is "${digest}": give sha256: and 64 hexadecimal digits`,
      ],
    ),
    ['a tag that is none', at('image.tag', 'a b'), '- image.tag is "a b": give a tag, for example 1.2.3'],
    ...[
      'kafka',
      'kafka-0,kafka-1',
      'a:65536',
      'a:9092, b:9092',
      'PLAINTEXT://a:9092',
      'a:9092,',
      'a..b:9092',
    ].map(
      (brokers): Wrong => [
        `kafka.brokers=${brokers}`,
        at('kafka.brokers', brokers),
        `- kafka.brokers is "${brokers}": give host:port of each bootstrap broker, separated by commas without blanks, for example kafka-0.example.com:9092,kafka-1.example.com:9092`,
      ],
    ),
    ...['a..b', 'a.-b', 'Bucket', 's3://bucket', '-abc'].map(
      (bucket): Wrong => [
        `s3.bucket=${bucket}`,
        at('s3.bucket', bucket),
        `- s3.bucket is "${bucket}": give the name of the bucket alone, for example headset-artifacts`,
      ],
    ),
    ['a bucket of two letters', at('s3.bucket', 'ab'), "'/s3/bucket'", 'minLength'],
    ['a name with an empty part', at('caBundleConfigMap', 'a..b'), "'/caBundleConfigMap'"],
    ['a pull Secret of no name', { imagePullSecrets: [{}] }, "'/imagePullSecrets/0'", "'name'"],
    [
      'a pull Secret with another key',
      { imagePullSecrets: [{ name: 'a', nmae: 'b' }] },
      "'/imagePullSecrets/0'",
      "'nmae' not allowed",
    ],
    ['a pull Secret with an empty name', { imagePullSecrets: [{ name: '' }] }, "'/imagePullSecrets/0/name'"],
  ]);

  const withTls = (host: string) => ({
    headsets: { tls: { issuer: { name: 'public' }, hosts: [host] } },
  });
  it.each([
    ...hosts.slice(0, 3).flatMap((path) => [
      [`${path}=*.example.com`, at(path, '*.example.com'), '*.example.com'],
      [`${path}=a--b.1.example`, at(path, 'a--b.1.example'), 'a--b.1.example'],
    ]),
    ['rpcTls.domain=internal', at('rpcTls.domain', 'internal'), 'devices.internal'],
    ['a wildcard of headsets', withTls('*.example.com'), '*.example.com'],
    ...['headset-cloud', 'reg:5000/x', 'reg.example.com/a__b/c-d.e', 'localhost:5000/x'].map((name) => [
      `image.repository=${name}`,
      at('image.repository', name),
      `"${name}@sha256:`,
    ]),
    ['one broker by its address', at('kafka.brokers', '10.0.0.1:9092'), '10.0.0.1:9092'],
    ['a bucket with dots', at('s3.bucket', 'a.b-c.9'), 'a.b-c.9'],
    ['a bucket of three letters', at('s3.bucket', 'a.b'), 'value: "a.b"'],
  ] as [string, object, string][])('but not %s', (_, values, seen) => {
    expect(render({ ...scenarios['production'], values })).toContain(seen);
  });

  it('pull Secrets are accepted by name, and in Kubernetes’ form', () => {
    const values = { imagePullSecrets: ['one', { name: 'two' }] };
    const pods = resources({ ...scenarios['trial'], values }).flatMap(({ spec }) => [
      spec?.template?.spec?.imagePullSecrets ?? spec?.imagePullSecrets ?? [],
    ]);
    expect(pods.filter((one) => one.length > 0).length).toBeGreaterThan(9);
    for (const one of pods.filter(({ length }) => length > 0))
      expect(one).toEqual([{ name: 'one' }, { name: 'two' }]);
  });
});

describeWith(['helm'], 'TRUSTED_PROXIES', () => {
  const { parse } = commonConfig.TRUSTED_PROXIES;
  const taken = (value: string) => {
    try {
      render({ ...scenarios['production'], values: { settings: { TRUSTED_PROXIES: value } } });
      return true;
    } catch (error) {
      expect(String(error)).toContain(
        `- settings.TRUSTED_PROXIES is ${JSON.stringify(value)}: give addresses and networks (CIDR), separated by commas, for example 10.0.0.0/8,fd00::/8`,
      );
      return false;
    }
  };
  const parsed = (value: string) => {
    try {
      parse(value);
      return true;
    } catch {
      return false;
    }
  };

  it('has the same pattern of networks as the chart’s forms', () => {
    const forms = chartYaml('files/forms.yaml') as { paths: string[]; pattern: string }[];
    const form = forms.find(({ paths }) => paths.includes('settings.TRUSTED_PROXIES'));
    expect(form?.pattern).toBe(networksPattern);
  });

  it.each([
    ...['foo', '10.0.0.0/33', '10.0.0/8', '10.0.0.1,', '::::/8', 'fd00::/129', '10.0.0.1/', '1::2::3'],
    ...[
      '10.0.0.1',
      '10.0.0.0/8,fd00::/8',
      ' 10.0.0.0/8 , ::1 ',
      '::/0',
      '1:2:3:4:5:6:7:8',
      '1:2:3:4:5:6:7::',
    ],
    ...['::ffff:10.0.0.1', '::10.0.0.1/128', '1:2:3:4:5:6:10.0.0.1', '1::5:10.0.0.1', '10.0.0.0/08'],
  ])('%j is taken where its process takes it, and only there', (value) => {
    expect(taken(value)).toBe(parsed(value));
  });
});

describeWith(['helm'], 'callbacks.allowAddresses of a trial', () => {
  const { parse } = callbackAddressesConfig.NOTIFIER_ALLOW_ADDRESSES;

  it.each([
    ...['0.0.0.0/0', '::/0', '10.0.0.0/0', 'fd00::/0', '10.0.0.0/33', 'fd00::/129', '10.0.0.0', '::::/8'],
    ...['0.0.0.0/1', '::/1', '10.0.0.0/8', '10.0.0.1/32', '10.0.0.0/30', 'fd00::/8', '::1/128', '::/96'],
  ])('%s is accepted if and only if its process accepts it', (one) => {
    const isTaken = (check: () => unknown) => {
      try {
        check();
        return true;
      } catch {
        return false;
      }
    };
    const values = { callbacks: { allowAddresses: [one] } };
    expect(isTaken(() => render({ ...scenarios['trial'], values }))).toBe(isTaken(() => parse(one)));
  });

  refusals('trial', [
    ['every address', at('callbacks.allowAddresses', ['0.0.0.0/0']), "'/callbacks/allowAddresses/0'"],
  ]);
});

describeWith(['helm'], 'an exception of the egress proxy', () => {
  const { parse } = egressConfig.EGRESS_NO_PROXY;
  const proxy = { egressProxy: { url: 'http://proxy.example.com:3128' } };

  // The value also becomes a network of the NetworkPolicies.
  refusals('production', [
    ['that only its process would read', at('egressProxy.except', ['10.0.0/8']), "'/egressProxy/except/0'"],
  ]);

  it.each([
    ...['10.0.0.0/99', 'fd00::/129', 'a/8', 'https://a.example.com', 'a..b', 'a:443', '::::'],
    ...['10.0.0.0/8', 'fd00::/8', '10.0.0.1', '::1', '.example.com', 'a_b.Example.com', 'localhost'],
  ])('%s is accepted if and only if its process accepts it', (one) => {
    const takenBy = (check: () => unknown) => {
      try {
        check();
        return true;
      } catch {
        return false;
      }
    };
    const values = merged(proxy, { egressProxy: { except: [one] } });
    expect(takenBy(() => render({ ...scenarios['production'], values }))).toBe(takenBy(() => parse(one)));
  });
});

describeWith(['helm'], 'a memory limit', () => {
  const limit = (component: string, memory: string) => {
    const values = { resources: { requests: { memory: '32Mi' }, limits: { memory } } };
    return component === 'site' ? { site: values } : { components: { [component]: values } };
  };
  refusals('production', [
    [
      'that a process exceeds while idle',
      limit('billing', '159Mi'),
      '- components.billing.resources.limits.memory is 159Mi, but such a process takes up to 160Mi',
      'would be killed: raise it',
    ],
    [
      'that the gateway exceeds',
      limit('gateway', '200Mi'),
      '- components.gateway.resources.limits.memory is 200Mi',
    ],
    ['that the site exceeds', limit('site', '40Mi'), '- site.resources.limits.memory is 40Mi'],
  ]);
  it.each([
    ['billing', '160Mi'],
    ['gateway', '224Mi'],
    ['site', '104Mi'],
  ])('of %s may be %s', (component, memory) => {
    const values = limit(component, memory);
    expect(render({ ...scenarios['production'], values })).toContain(`memory: ${memory}`);
  });
});
