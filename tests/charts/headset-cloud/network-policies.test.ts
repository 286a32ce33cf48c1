import { edges as edgesOfProtos, type Listener } from '../../architecture/callers.ts';
import { describeWith } from '../../support/skip.ts';
import { chartYaml, componentOf, type Resource, resources } from './chart.ts';
import { scenarios } from './scenarios.ts';

/** Callers and called services over gRPC, as an independent list. A test below compares the list with the protocols. */
const calls: Readonly<Record<string, readonly string[]>> = {
  gateway: [
    ...['billing', 'communication', 'connectivity', 'devices', 'gateway', 'notifier', 'transactions'],
    'updates',
  ],
  devices: ['notifier', 'transactions'],
  transactions: ['device-link', 'devices'],
  'device-link': ['device-link', 'devices', 'transactions', 'updates'],
  communication: ['devices', 'notifier'],
  notifier: ['devices'],
  updates: ['devices'],
  connectivity: ['devices'],
};
const edges = Object.entries(calls)
  .flatMap(([from, tos]) => tos.map((to) => `${from} → ${to}`))
  .sort();

interface Peer {
  readonly podSelector?: { readonly matchLabels: Record<string, string> };
  readonly ipBlock?: { readonly cidr: string };
}
interface Rule {
  readonly from?: readonly Peer[];
  readonly to?: readonly Peer[];
  readonly ports?: readonly { readonly port: number }[];
}

const policies = (all: readonly Resource[]) => all.filter((r) => r.kind === 'NetworkPolicy');
const about = (policy: Resource) => componentOf(policy['spec'].podSelector.matchLabels);

/** Edges of one direction at one port, as `from → to`. */
function allowed(all: readonly Resource[], direction: 'ingress' | 'egress', port: number): string[] {
  return policies(all)
    .filter((policy) => about(policy) !== '')
    .flatMap((policy) =>
      ((policy['spec'][direction] ?? []) as Rule[])
        .filter((rule) => !rule.ports || rule.ports.some((p) => p.port === port))
        .flatMap((rule) => {
          const peers = direction === 'ingress' ? rule.from : rule.to;
          if (!peers) return ['anybody'];
          return peers.flatMap((peer) =>
            peer.podSelector ? [componentOf(peer.podSelector.matchLabels) || 'other pods'] : [],
          );
        })
        .map((peer) =>
          direction === 'ingress' ? `${peer} → ${about(policy)}` : `${about(policy)} → ${peer}`,
        ),
    )
    .sort();
}

describeWith(['helm'], 'NetworkPolicies', () => {
  const names = Object.keys(scenarios);
  let all: Map<string, Resource[]>;
  beforeAll(() => {
    all = new Map(names.map((name) => [name, resources(scenarios[name])]));
  });
  const resourcesOf = (name: string) => all.get(name) ?? [];

  it('the list matches the protocols, and operators may call every service', async () => {
    const named = await edgesOfProtos();
    const of = (listener: Listener) =>
      named
        .filter((edge) => edge.listener === listener)
        .map(({ from, to }) => `${from} → ${to}`)
        .sort();
    expect(of('grpc')).toEqual(edges);
    const services = Object.keys(chartYaml('files/components.yaml')).filter(
      (name) => !['gateway', 'site'].includes(name),
    );
    const listeners = services.map((name) => `ctl → ${name}`);
    expect(of('admin').filter((edge) => !listeners.includes(edge))).toEqual([]);
  });

  it('the components’ file has the same list of calls', () => {
    const own = Object.entries(chartYaml('files/components.yaml') as Record<string, { calls: string[] }>)
      .flatMap(([from, component]) => component.calls.map((to) => `${from} → ${to}`))
      .sort();
    expect(own).toEqual(edges);
  });

  // protects against services/network
  it.each(names)('%s: callers may leave and arrive exactly as the list says', (name) => {
    const found = resourcesOf(name);
    expect(allowed(found, 'egress', 9000)).toEqual(edges);
    expect(allowed(found, 'ingress', 9000)).toEqual(edges);
  });

  // protects against services/network
  it.each(names)('%s: every pod is denied everything first, and its component has one policy', (name) => {
    const found = resourcesOf(name);
    const deny = policies(found).filter((policy) => about(policy) === '');
    expect(deny.map((policy) => policy['spec'])).toEqual([
      {
        podSelector: {
          matchLabels: { 'app.kubernetes.io/name': 'headset-cloud', 'app.kubernetes.io/instance': 'trial' },
        },
        policyTypes: ['Ingress', 'Egress'],
      },
    ]);
    const pods = found
      .filter((r) => ['Deployment', 'StatefulSet', 'Job', 'CronJob', 'Pod'].includes(r.kind))
      .map((r) =>
        componentOf((r['spec'].jobTemplate?.spec.template ?? r['spec'].template ?? r).metadata.labels),
      );
    const own = policies(found)
      .map(about)
      .filter((name) => name !== '');
    expect(own.sort()).toEqual([...new Set(pods)].sort());
  });

  it.each(names)(
    '%s: operators reach every process of the platform, and no pod reaches the operators',
    (name) => {
      const found = resourcesOf(name);
      const services = Object.keys(chartYaml('files/components.yaml')).filter((name) => name !== 'site');
      expect(allowed(found, 'egress', 9100).filter((edge) => edge.startsWith('operator'))).toEqual(
        services.map((name) => `operator → ${name}`).sort(),
      );
      const arriving = allowed(found, 'ingress', 9100).filter((edge) => edge.startsWith('operator'));
      expect(arriving).toEqual(services.map((name) => `operator → ${name}`).sort());
      const operator = policies(found).find((policy) => about(policy) === 'operator');
      expect(operator?.['spec'].ingress).toBeUndefined();
    },
  );

  it('operators upload firmware to the target of its URLs: S3, or updates', () => {
    const s3 = { ports: [{ port: 443, protocol: 'TCP' }], to: [{ ipBlock: { cidr: '10.20.7.0/24' } }] };
    const egress = (found: readonly Resource[]) =>
      policies(found).find((policy) => about(policy) === 'operator')?.['spec'].egress;
    const values = { networkPolicy: { s3: { to: s3.to } } };
    const production = resources({ ...scenarios['production'], values });
    expect(egress(production)).toContainEqual(s3);
    expect(allowed(production, 'egress', 8084)).not.toContain('operator → updates');
    const proxied = resources({ ...scenarios['production behind an egress proxy'], values });
    expect(egress(proxied)).toContainEqual(s3);
    const trial = resources(scenarios['trial']);
    expect(allowed(trial, 'egress', 8084)).toContain('operator → updates');
  });

  it.each(names)(
    '%s: only notifier and communication reach public addresses, and private ones only if configured',
    (name) => {
      const found = resourcesOf(name);
      const anywhere = policies(found).filter((policy) =>
        ((policy['spec'].egress ?? []) as Rule[]).some((rule) =>
          rule.to?.some((peer) => peer.ipBlock?.cidr === '0.0.0.0/0'),
        ),
      );
      const proxied = name.endsWith('proxy');
      expect(anywhere.map(about).sort()).toEqual(proxied ? [] : ['communication', 'notifier']);
      for (const policy of anywhere) {
        const blocks = (policy['spec'].egress as Rule[])
          .flatMap((rule) => rule.to ?? [])
          .map((peer) => peer.ipBlock?.cidr);
        expect(blocks.includes('10.0.0.0/8')).toBe(name.startsWith('trial'));
      }
    },
  );

  it('with an egress proxy, components with outgoing calls reach the proxy, its exceptions, and nothing else outside', () => {
    const found = resources(scenarios['production behind an egress proxy']);
    const proxy = {
      ports: [{ port: 3128, protocol: 'TCP' }],
      to: [{ ipBlock: { cidr: '10.20.9.0/24' } }],
    };
    /** Rules that are about no pods, DNS or stores. */
    const outside = (of: string) =>
      policies(found)
        .filter((policy) => about(policy) === of)
        .flatMap((policy) => policy['spec'].egress as Rule[])
        .filter(({ ports, to }) => {
          const known = [53, 9000, 27017, 9092].includes(ports?.[0]?.port ?? 0);
          return !known && !to?.some((peer) => peer.podSelector);
        });
    const exception = { to: [{ ipBlock: { cidr: '10.30.0.0/16' } }] };
    const issuer = {
      ports: [{ port: 443, protocol: 'TCP' }],
      to: [{ ipBlock: { cidr: '10.20.8.0/24' } }],
    };
    expect(outside('notifier')).toEqual([proxy, exception]);
    expect(outside('communication')).toEqual([proxy, exception]);
    expect(outside('updates')).toEqual([proxy]);
    expect(outside('gateway')).toEqual([proxy, issuer]);
    for (const other of [
      'devices',
      'transactions',
      'device-link',
      'billing',
      'connectivity',
      'prepare',
      'operator',
    ])
      expect(outside(other)).toEqual([]);
  });

  it.each([
    ['http://proxy.example.com', 80],
    ['https://proxy.example.com', 443],
    ['http://10.20.9.1:8080/', 8080],
    ['http://[fd00::1]:3129', 3129],
  ])('the port of the proxy %s is %i', (url, port) => {
    const found = resources({ ...scenarios['production'], values: { egressProxy: { url } } });
    const [policy] = policies(found).filter((one) => about(one) === 'notifier');
    expect(policy?.['spec'].egress).toContainEqual({ ports: [{ port, protocol: 'TCP' }] });
  });

  it('DNS is reached on the ports of its pods', () => {
    const values = {
      networkPolicy: { dns: [{ ipBlock: { cidr: '169.254.20.10/32' } }], dnsPorts: [53, 5353] },
    };
    const found = resources({ ...scenarios['production'], values });
    const callers = policies(found).filter((policy) => !['', 'site'].includes(about(policy)));
    expect(callers.length).toBeGreaterThan(10);
    for (const policy of callers)
      expect(policy['spec'].egress).toContainEqual({
        ports: [53, 5353].flatMap((port) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }))),
        to: [{ ipBlock: { cidr: '169.254.20.10/32' } }],
      });
  });

  it('private addresses are not reachable through NAT64 either', () => {
    const [policy] = policies(resources(scenarios['production'])).filter((one) => about(one) === 'notifier');
    const blocks = ((policy as Resource)['spec'].egress as Rule[])
      .flatMap(({ to }) => to ?? [])
      .map((peer) => peer.ipBlock);
    const except = (cidr: string): string[] =>
      (blocks.find((block) => block?.cidr === cidr) as { except?: string[] } | undefined)?.except ?? [];
    /** The network of the 96 bits of the prefix and the IPv4 network behind them. */
    const translated = except('0.0.0.0/0').map((network) => {
      const [address = '', length = ''] = network.split('/');
      const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
      const group = (high: number, low: number) => (high * 256 + low).toString(16);
      return `64:ff9b::${group(a, b)}:${group(c, d)}/${96 + Number(length)}`;
    });
    expect(translated).toHaveLength(7);
    expect(except('::/0')).toEqual(expect.arrayContaining([...translated, '64:ff9b:1::/48']));
  });

  it('an empty target allows all addresses on its ports; a configured target only its addresses', () => {
    const found = resources({ ...scenarios['production'], values: { tracesEndpoint: 'http://c:4318' } });
    const rule = (of: string, port: number) =>
      policies(found)
        .filter((policy) => about(policy) === of)
        .flatMap((policy) => policy['spec'].egress as Rule[])
        .find((r) => r.ports?.[0]?.port === port);
    expect(rule('devices', 27017)?.to).toEqual([{ ipBlock: { cidr: '10.20.0.0/24' } }]);
    expect(rule('updates', 443)).toEqual({ ports: [{ port: 443, protocol: 'TCP' }] });
    expect(rule('gateway', 443)).toEqual({ ports: [{ port: 443, protocol: 'TCP' }] });
    expect(rule('devices', 443)).toBeUndefined();
    expect(rule('gateway', 27017)).toBeUndefined();
    expect(rule('billing', 4318)).toBeDefined();
  });

  // Metrics and operators' calls share a port, so an empty list must never open it.
  it('if no pod reads metrics, only operators reach the admin port', () => {
    const values = { networkPolicy: { scrapes: [] }, monitoring: { serviceMonitor: false } };
    const found = resources({ ...scenarios['production'], values });
    const services = Object.keys(chartYaml('files/components.yaml')).filter((name) => name !== 'site');
    expect(allowed(found, 'ingress', 9100)).toEqual(services.map((name) => `operator → ${name}`).sort());
  });
});
