import { readFileSync } from 'node:fs';
import { describeWith } from '../../support/skip.ts';
import { render, resources } from './chart.ts';
import { at, refusals, type Wrong } from './refusals.ts';
import { scenarios } from './scenarios.ts';
import { schemaFile } from './schema.ts';

/** Values in Kubernetes' own form: a key with a typing error would be dropped by the API server, or opens a port to everybody. */

/** Every list of peers, by its path. */
const peerLists = [
  ...['dns', 'egressProxy', 'scrapes', 'ingress'].map((name) => `networkPolicy.${name}`),
  ...['mongodb', 'kafka', 's3', 'issuer', 'traces'].map((name) => `networkPolicy.${name}.to`),
];
const pointer = (path: string) => `/${path.replaceAll('.', '/')}`;
const scrapes = (peer: unknown) => at('networkPolicy.scrapes', [peer]);
const expression = (one: unknown) => scrapes({ podSelector: { matchExpressions: [one] } });
const where = "'/networkPolicy/scrapes/0/podSelector/matchExpressions/0";
const tolerations = (...list: unknown[]) => at('scheduling.tolerations', list);

it('no object of the schema allows unknown keys', () => {
  const open: string[] = [];
  const visit = (of: Record<string, unknown>, path: string) => {
    if (of['type'] === 'object' && of['additionalProperties'] !== false) open.push(path);
    if (of['type'] === 'array' && !of['items']) open.push(path);
    for (const [key, inner] of Object.entries(of)) {
      if (typeof inner === 'object' && inner !== null)
        visit(inner as Record<string, unknown>, `${path}/${key}`);
    }
  };
  visit(JSON.parse(readFileSync(schemaFile, 'utf8')), '');
  // Helm's own.
  expect(open).toEqual(['/patternProperties/^global$']);
});

describeWith(['helm'], 'wrong values in Kubernetes’ own form stop an installation', () => {
  refusals('production', [
    ...peerLists.flatMap((path): Wrong[] => [
      [
        `a typing error in a selector of ${path}`,
        at(path, [{ namespaceSelector: { matchLables: { team: 'a' } } }]),
        `'${pointer(path)}/0/namespaceSelector'`,
        "additional properties 'matchLables' not allowed",
      ],
      [
        `a network beside a selector in ${path}`,
        at(path, [
          { podSelector: {} },
          { ipBlock: { cidr: '10.0.0.0/8' }, namespaceSelector: { matchLabels: { team: 'a' } } },
        ]),
        `${path}[1] has ipBlock beside namespaceSelector, which Kubernetes forbids: make two entries of it`,
      ],
      [
        `an exception outside of its network in ${path}`,
        at(path, [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '11.0.0.0/16'] } }]),
        `${path}[0].ipBlock.except[1] (11.0.0.0/16) is no part of the network 10.0.0.0/8`,
      ],
    ]),
    ...['10.0.0.0/8', '10.0.0.0/7', 'fd00::/64'].map(
      (except): Wrong => [
        `the exception ${except}, which is no smaller part of 10.0.0.0/8`,
        scrapes({ ipBlock: { cidr: '10.0.0.0/8', except: [except] } }),
        `networkPolicy.scrapes[0].ipBlock.except[0] (${except}) is no part of the network 10.0.0.0/8`,
      ],
    ),
    [
      'a selector of nothing by an empty map',
      scrapes({ namespaceSelector: { matchLabels: {} } }),
      "'/networkPolicy/scrapes/0/namespaceSelector/matchLabels'",
      'minProperties',
    ],
    [
      'a selector of nothing by an empty list',
      scrapes({ namespaceSelector: { matchExpressions: [] } }),
      "'/networkPolicy/scrapes/0/namespaceSelector/matchExpressions'",
      'minItems',
    ],
    ['a selector that is null', scrapes({ podSelector: null }), "'/networkPolicy/scrapes/0/podSelector'"],
    [
      'a network of another spelling',
      scrapes({ ipblock: { cidr: '10.0.0.0/8' } }),
      "additional properties 'ipblock' not allowed",
    ],
    [
      'an exception of another spelling',
      scrapes({ ipBlock: { cidr: '10.0.0.0/8', exept: [] } }),
      "'/networkPolicy/scrapes/0/ipBlock'",
      "'exept' not allowed",
    ],
    [
      'a label that is no text',
      scrapes({ podSelector: { matchLabels: { team: true } } }),
      "'/networkPolicy/scrapes/0/podSelector/matchLabels/team'",
      'got boolean, want string',
    ],
    [
      'a label’s key that is none',
      scrapes({ podSelector: { matchLabels: { 'a b': 'x' } } }),
      "'/networkPolicy/scrapes/0/podSelector/matchLabels'",
      'a b',
    ],
    [
      'a label’s value that is none',
      scrapes({ podSelector: { matchLabels: { team: 'a b' } } }),
      "'/networkPolicy/scrapes/0/podSelector/matchLabels/team'",
    ],
    [
      'an operator that is none',
      expression({ key: 'a', operator: 'in', values: ['b'] }),
      `${where}/operator'`,
    ],
    ['an expression without a key', expression({ operator: 'Exists' }), `${where}'`, "'key'"],
    ['In without values', expression({ key: 'a', operator: 'In' }), `${where}'`, "'values'"],
    [
      'NotIn without a value',
      expression({ key: 'a', operator: 'NotIn', values: [] }),
      `${where}/values'`,
      'minItems',
    ],
    [
      'Exists with values',
      expression({ key: 'a', operator: 'Exists', values: ['b'] }),
      `${where}/values'`,
      'maxItems',
    ],
    [
      'a value of another spelling',
      expression({ key: 'a', operator: 'In', value: ['b'] }),
      "'value' not allowed",
    ],
    ...['::::/8', '1:2:3:4:5:6:7:8:9/64', '1:2:3:4:5:6:7/64', '1::2::3/64', ':1:2:3:4:5:6:7/64'].map(
      (cidr): Wrong => [
        `the network ${cidr}`,
        scrapes({ ipBlock: { cidr } }),
        "'/networkPolicy/scrapes/0/ipBlock/cidr'",
      ],
    ),
    [
      'typing errors in a toleration',
      tolerations({ keys: 'dedicated', operator: 'Exists', effects: 'NoSchedule' }),
      "'/scheduling/tolerations/0'",
      'additional properties',
      "'keys'",
      "'effects'",
    ],
    ['a toleration of nothing', tolerations({}), "'/scheduling/tolerations/0'", "'operator'"],
    ['an operator alone', tolerations({ operator: 'Equal' }), "'/scheduling/tolerations/0/operator'"],
    [
      'a value beside Exists',
      tolerations({ key: 'a', operator: 'Exists', value: 'b' }),
      "'/scheduling/tolerations/0/value'",
    ],
    [
      'an effect that is none',
      tolerations({ key: 'a', effect: 'noSchedule' }),
      "'/scheduling/tolerations/0/effect'",
    ],
    [
      'seconds of what does not evict',
      tolerations({ key: 'a', effect: 'NoSchedule', tolerationSeconds: 5 }),
      "'/scheduling/tolerations/0/effect'",
    ],
    [
      'a node’s label that is none',
      at('scheduling.nodeSelector', { '-pool': 'a' }),
      "'/scheduling/nodeSelector'",
    ],
    [
      'a node’s label of a value that is none',
      at('scheduling.nodeSelector', { pool: 'a/b' }),
      "'/scheduling/nodeSelector/pool'",
    ],
    ['a label that Prometheus cannot select', at('monitoring.labels', { release: '-a' }), "labels/release'"],
    ...['expose.annotations', 'headsets.annotations', 'components.updates.serviceAccountAnnotations'].map(
      (path): Wrong => [
        `an annotation’s key that is none in ${path}`,
        at(path, { 'a//b': 'x' }),
        pointer(path),
      ],
    ),
  ]);

  const peers = [
    { namespaceSelector: {} },
    { podSelector: {} },
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring', empty: '' } },
      podSelector: {
        matchExpressions: [
          { key: 'example.com/app', operator: 'In', values: ['a', 'b'] },
          { key: 'old', operator: 'DoesNotExist' },
        ],
      },
    },
    { ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.255.255.255/32'] } },
    { ipBlock: { cidr: '0.0.0.0/0', except: ['255.0.0.0/8', '0.0.0.0/32'] } },
    { ipBlock: { cidr: 'fd00::/8', except: ['fd12:3456::/32'] } },
  ];

  it.each(peerLists)('right peers are taken as they are in %s', (path) => {
    const values = {
      ...at(path, peers),
      ...(path.includes('traces') && { tracesEndpoint: 'http://collector:4318' }),
      ...(path.includes('egressProxy') && { egressProxy: { url: 'http://proxy.example.com:3128' } }),
    };
    const found = resources({ ...scenarios['production'], values })
      .filter(({ kind }) => kind === 'NetworkPolicy')
      .flatMap(({ spec }) => [...(spec.ingress ?? []), ...(spec.egress ?? [])])
      .flatMap(({ from = [], to = [] }) => [...from, ...to]);
    expect(found).toEqual(expect.arrayContaining(peers));
  });

  it('valid tolerations, labels and annotations are used unchanged', () => {
    const taints = [
      { operator: 'Exists' },
      { key: 'dedicated', operator: 'Equal', value: 'platform', effect: 'NoSchedule' },
      { key: 'example.com/spot', value: '' },
      {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 30,
      },
    ];
    const values = {
      scheduling: { tolerations: taints, nodeSelector: { 'topology.kubernetes.io/zone': 'a', gpu: '' } },
      headsets: {
        annotations: {
          'service.beta.kubernetes.io/aws-load-balancer-type': 'nlb',
          'X.Example.com/a': '{"b": 1}',
        },
      },
    };
    const [deployment] = resources({ ...scenarios['production'], values }).filter(
      ({ kind }) => kind === 'Deployment',
    );
    expect(deployment?.['spec'].template.spec.tolerations).toEqual(taints);
    expect(render({ ...scenarios['production'], values })).toContain('X.Example.com/a');
  });
});
