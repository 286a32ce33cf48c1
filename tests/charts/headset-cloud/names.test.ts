import { parseAllDocuments } from 'yaml';
import { describeWith } from '../../support/skip.ts';
import { chartYaml, type Rendering, type Resource, render } from './chart.ts';
import { everything, scenarios } from './scenarios.ts';

/** Maximum length of a release name. A trial has workloads with longer names. */
const longest = (scenario: string) => (scenario.startsWith('trial') ? 33 : 40);

/** The most characters of a name, where Kubernetes makes a label or the names of pods from it. */
const mostCharacters: Readonly<Record<string, number>> = {
  Service: 63,
  // The label `job-name` of its pods.
  Job: 63,
  // The name and eleven characters become a Job's.
  CronJob: 52,
  // The name, a hyphen and ten characters become the label `controller-revision-hash` of its pods.
  StatefulSet: 52,
};

/** Resources as the API server reads them: YAML 1.1, in which `on`, `0x1f` and `1_000` are no text. */
const read = (of: Rendering) =>
  parseAllDocuments(render(of), { version: '1.1' })
    .map((document) => document.toJS() as Resource | null)
    .filter((resource): resource is Resource => resource !== null)
    // Generated again each time.
    .filter(({ kind }) => kind !== 'Secret');

describeWith(['helm'], 'names', () => {
  it.each(Object.keys(scenarios))('%s: the longest name of a release fits everywhere', (scenario) => {
    const release = 'r'.repeat(longest(scenario));
    const found = read({ ...scenarios[scenario], release });
    const wrong = found.filter(
      ({ kind, metadata: { name } }) =>
        name.length > (mostCharacters[kind] ?? 253) ||
        (kind === 'Service' && !/^[a-z][a-z0-9-]*$/.test(name)),
    );
    expect(wrong.map(({ kind, metadata: { name } }) => `${kind} ${name} (${name.length})`)).toEqual([]);
    const labels = found.flatMap(({ metadata }) => Object.values(metadata.labels ?? {}));
    expect(labels.length).toBeGreaterThan(300);
    expect(labels.filter((label) => !/^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.test(label))).toEqual(
      [],
    );
  });

  it.each(['production', 'trial'])('%s: a longer one is refused', (scenario) => {
    const most = longest(scenario);
    expect(() => render({ ...scenarios[scenario], release: 'r'.repeat(most + 1) })).toThrow(
      `The release's name has ${most + 1} characters`,
    );
    expect(() => render({ ...scenarios[scenario], release: 'r'.repeat(most + 1) })).toThrow(
      `take at most ${most}`,
    );
  });

  it.each(['cloud.blue', '2nd', '123'])('a release with the name %s is refused', (release) => {
    expect(() => render({ ...scenarios['production'], release })).toThrow(
      `The release is called "${release}", but names of Services begin with a letter and have no dots`,
    );
  });

  it.each(
    ['production, everything on', 'trial', 'trial with stores from outside'].flatMap((scenario) =>
      [
        ['true', '123'],
        ['null', '1e3'],
        ['on', '0x1f'],
        ['n', '2026-11-26'],
      ].map(([release, namespace]) => [scenario, release as string, namespace as string] as const),
    ),
  )('%s: release %s in namespace %s stays text', (scenario, release, namespace) => {
    // The names of Jobs carry a hash of specifications that name the release, the dashboard's uid a hash of its name.
    const text = (resources: readonly Resource[]) =>
      JSON.stringify(resources)
        .replaceAll(/-[0-9a-f]{10}"/g, '"')
        .replaceAll(/headset-cloud-[0-9a-f]{16}/g, 'headset-cloud-');
    const plain = read({ ...scenarios[scenario], release: 'plainrelease', namespace: 'plainnamespace' });
    expect(JSON.parse(text(read({ ...scenarios[scenario], release, namespace })))).toEqual(
      JSON.parse(text(plain).replaceAll('plainrelease', release).replaceAll('plainnamespace', namespace)),
    );
  });
});

describeWith(['helm'], 'the bytes of the manifests', () => {
  /** The same values with their keys in the opposite order. */
  const reversed = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, inner]) => [key, reversed(inner)]),
    );
  };

  const trial = chartYaml('values-trial.yaml');
  /** The same, with an existing Secret instead of the generated one. */
  const named = { ...trial, trial: { ...trial.trial, secret: 'trial-secrets' } };

  it.each([
    ['production', 'production', everything],
    ['a trial with an existing Secret', 'trial', named],
    [
      'a trial with its issuer only and an existing Secret',
      'trial with stores from outside',
      {
        ...(scenarios['trial with stores from outside']?.values as object),
        trial: { ...named.trial, stores: false },
      },
    ],
    ['a trial, but for its generated Secret', 'trial', trial],
  ])('follow from the values alone, in whatever order they stand: %s', (title, scenario, values) => {
    const generated = title.endsWith('its generated Secret');
    const bytes = (given: unknown) =>
      render({ ...scenarios[scenario], values: given })
        .split(/^---$/m)
        .filter((text) => !(generated && text.includes('kind: Secret\n')));
    expect(JSON.stringify(reversed(values))).not.toBe(JSON.stringify(values));
    expect(bytes(reversed(values))).toEqual(bytes(values));
  });
});
