import { readFileSync } from 'node:fs';
import { describeWith } from '../../support/skip.ts';
import { chartYaml, type Rendering, type Resource, resources } from './chart.ts';
import { merged } from './refusals.ts';
import { everything, scenarios } from './scenarios.ts';
import { schemaFile } from './schema.ts';

interface Schema {
  readonly type?: string | readonly string[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}
interface Leaf {
  readonly path: string;
  readonly pattern: RegExp;
}

/** The forms that the chart itself checks, by path. */
const judged = new Map<string, string>(
  chartYaml('files/forms.yaml').flatMap(({ paths, pattern }: { paths: string[]; pattern: string }) =>
    paths.map((path) => [path, pattern]),
  ),
);

/** Every text of the values: of an object, of a map (under one key), of a list (one item). */
function leaves(schema: Schema, path: string[] = []): Leaf[] {
  const { type, pattern, properties, patternProperties, items } = schema;
  if (type?.includes('string')) {
    const form = judged.get(path.filter((name) => name !== '[]').join('.'));
    return [{ path: path.join('.'), pattern: new RegExp(form ?? pattern ?? '') }];
  }
  return [
    ...Object.entries(properties ?? {}).flatMap(([key, of]) => leaves(of, [...path, key])),
    ...Object.values(patternProperties ?? {}).flatMap((of) => leaves(of, [...path, 'example~1key'])),
    ...(items ? leaves(items, [...path, '[]']) : []),
  ];
}

/** Sets one value by its path, in an object that is extended. */
function set(values: Record<string, unknown>, path: string, value: unknown): void {
  const keys = path.split('.');
  let at: Record<string, unknown> = values;
  for (const [i, key] of keys.entries()) {
    const name = key.replace('~1', '/');
    if (keys[i + 1] === '[]') {
      // A list of texts; lists of peers have selectors, which the API server checks.
      if (keys.length === i + 2) at[name] = [value];
      return;
    }
    at[name] = i === keys.length - 1 ? value : (at[name] ?? {});
    at = at[name] as Record<string, unknown>;
  }
}

/** Forms in which a text may pass a pattern. */
const forms = (text: string) => [
  text,
  `https://x/${text}`,
  `https://${text}`,
  `https://x${text}`,
  `x${text}:1`,
  `x${text}`,
  'https://x',
  '10.0.0.0/8',
  'x:1',
  '100m',
  '1Gi',
  `sha256:${'0'.repeat(64)}`,
];

/** Values in which each text that may contain `text` does, and each other text is plain. */
function filled(text: string, without: readonly string[]): { values: unknown; held: number } {
  const values = {};
  let held = 0;
  for (const { path, pattern } of leaves(JSON.parse(readFileSync(schemaFile, 'utf8')))) {
    if (path.startsWith('trial.') || without.some((other) => path.startsWith(other))) continue;
    const form = forms(text).find((one) => pattern.test(one));
    if (form === undefined) continue;
    if (form.includes(text)) held += 1;
    set(values, path, form);
  }
  return { values, held };
}

/** The structure of a resource without its texts: keys, lengths of lists, and the type of each leaf. */
const shape = (it: unknown): unknown => {
  if (Array.isArray(it)) return it.map(shape);
  if (typeof it !== 'object' || it === null) return typeof it;
  return Object.fromEntries(Object.entries(it).map(([key, value]) => [key, shape(value)]));
};

/**
 * Values of the same services, through `settings`; a list in which a network is a valid peer and a name is not; and the
 * site's host, which must differ from the API's and appears at the same paths.
 */
const checkedElsewhere = ['components.', 'egressProxy.except', 'expose.site.host'];

/** Values that exclude each other. */
const installations: Readonly<Record<string, { of: Rendering; without: readonly string[] }>> = {
  'ingress and certificates of cert-manager': {
    of: { ...scenarios['production'], values: everything },
    without: ['rpcTls.secretPrefix', 'headsets.tls.secret', 'expose.gateway', ...checkedElsewhere],
  },
  'Gateway and certificates of one’s own': {
    of: scenarios['production behind a Gateway'] as Rendering,
    without: ['rpcTls.issuer', 'headsets.tls.issuer', ...checkedElsewhere],
  },
};

const fixed = {
  image: { digest: `sha256:${'0'.repeat(64)}` },
  headsets: { tls: { hosts: ['headsets.example.com'] } },
  callbacks: { allowAddresses: [] },
  kafka: { sasl: { mechanism: 'scram-sha-512' } },
};
const own = { rpcTls: { issuer: { name: '' } }, headsets: { tls: { issuer: { name: '' } } } };

describeWith(['helm'], 'values with the texts that YAML, templates and Kubernetes read otherwise', () => {
  const numbers = ['123', 'true', 'null', '1e3', '0x1f', '010', 'yes', '1.0'];
  const injections = [
    'a\nhostNetwork: true',
    'a\n  - name: b',
    '"a',
    "'a",
    'a: b',
    'a #b',
    '{{ .Values }}',
    '[a',
    '*a',
    '!a',
    '%a',
    '- a',
    '`a',
  ];

  for (const [name, { of, without }] of Object.entries(installations)) {
    const certificates = name.startsWith('Gateway') ? own : {};
    const rendered = (text: string): Resource[] => {
      const { values, held } = filled(text, without);
      expect(held).toBeGreaterThan(0);
      return resources({
        ...of,
        values: [of.values, values, fixed, certificates].reduce(merged),
      });
    };

    it.each([...numbers, ...injections])(`${name}: %j is a text wherever it is accepted`, (text) => {
      expect(shape(rendered(text))).toEqual(shape(rendered('plain')));
    });
  }

  it.each(['123', '1e3', 'true', 'null'])('a namespace that is called %s', (text) => {
    const { production } = scenarios;
    // The dashboard's file has a different name in each namespace.
    const shapes = (namespace: string) =>
      JSON.stringify(shape(resources({ ...production, namespace }))).replace(/[0-9a-f]{16}\.json/, 'x.json');
    expect(shapes(text)).toBe(shapes('plain'));
  });
});

/** The value in a container's environment: Kubernetes replaces $(NAME) and $$. */
function expanded(env: readonly { name: string; value?: string }[], name: string): string {
  const index = env.findIndex((one) => one.name === name);
  const before = new Map(env.slice(0, index).map((one) => [one.name, one.value ?? 'from a field']));
  return (env[index]?.value ?? '').replace(/\$(\$|\(([^)]*)\))/g, (all, sign: string, variable: string) =>
    sign === '$' ? '$' : (before.get(variable) ?? all),
  );
}

describeWith(['helm'], 'settings with signs that Kubernetes replaces', () => {
  const hostile = 'a$(KAFKA_BROKERS)$$b$(NODE_OPTIONS)$';
  it('reach the process unchanged', () => {
    const found = resources({
      ...scenarios['production'],
      values: merged(everything, {
        kafka: { sasl: { username: hostile } },
        oidc: { audience: hostile },
      }),
    });
    const seen = { KAFKA_SASL_USERNAME: 0, OIDC_AUDIENCE: 0 };
    for (const one of found) {
      const spec = one['spec']?.jobTemplate?.spec.template.spec ?? one['spec']?.template?.spec ?? one['spec'];
      for (const { env } of spec?.containers ?? []) {
        for (const name of Object.keys(seen) as (keyof typeof seen)[]) {
          if (!env?.some((e: { name: string }) => e.name === name)) continue;
          expect(expanded(env, name)).toBe(hostile);
          seen[name] += 1;
        }
      }
    }
    expect(seen.KAFKA_SASL_USERNAME).toBeGreaterThan(8);
    expect(seen.OIDC_AUDIENCE).toBe(1);
  });

  it('device-link still gets its own address', () => {
    const found = resources(scenarios['production']);
    const pod = found.find((r) => r.kind === 'Deployment' && r.metadata.name === 'trial-device-link');
    const env = pod?.['spec'].template.spec.containers[0].env;
    expect(expanded(env, 'ADVERTISE_ADDRESS')).toBe('from a field:9000');
  });
});
