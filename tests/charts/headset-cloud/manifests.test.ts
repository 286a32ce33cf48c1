import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { describeWith, itUnless } from '../../support/skip.ts';
import { runTool } from '../../support/tools.ts';
import { chartFolder, kubeVersions, noSchemas, render, resources, schemasFolder } from './chart.ts';
import { everything, scenarios } from './scenarios.ts';

/** Kinds that the cluster learns from others; their schemas are not among Kubernetes' own. */
const foreignKinds = 'HTTPRoute,ServiceMonitor,PrometheusRule,Certificate';

/** CRITICAL findings of kube-score that are accepted: their text, of which objects, and why. */
const accepted: readonly { text: RegExp; of: RegExp; why: string }[] = [
  {
    text: /CPU limit is not set/,
    of: /./,
    why: 'throttling makes calls late; requests share the CPU fairly',
  },
  {
    text: /ImagePullPolicy is not set to Always/,
    of: /./,
    why: 'images are named by digest, so a node never has another one of that name',
  },
  {
    text: /low (user|group) ID/,
    of: /trial-(mongodb|kafka)/,
    why: 'the official images own their data by these numbers; a trial only',
  },
  {
    text: /writable root filesystem/,
    of: /trial-kafka/,
    why: 'the official image writes its configuration at the start; a trial only',
  },
];

describeWith(['helm'], 'the chart', () => {
  const valuesFiles = readdirSync(chartFolder).filter((file) => /^values-.+\.yaml$/.test(file));
  it.each(valuesFiles)('passes helm lint with %s', (file) => {
    const args = [
      'lint',
      '--strict',
      '--kube-version',
      kubeVersions[1],
      chartFolder,
      '--values',
      join(chartFolder, file),
    ];
    const lint = runTool('helm', args);
    expect({ status: lint.status, said: lint.status === 0 ? '' : lint.stdout + lint.stderr }).toEqual({
      status: 0,
      said: '',
    });
  });

  it('is rejected below Kubernetes 1.30, and accepted with a provider’s version suffix', () => {
    const { production } = scenarios;
    expect(() => render({ ...production, kubeVersion: '1.29.9' })).toThrow(
      'requires kubeVersion: >=1.30.0-0',
    );
    expect(render({ ...production, kubeVersion: '1.30.4-gke.1' })).toContain('kind: Deployment');
  });

  it('is the same in each rendering', () => {
    const again = scenarios['production, everything on'];
    // Other values are rendered again.
    expect(render({ ...again, values: { ...everything, global: {} } })).toBe(render(again));
  });

  it('gives two releases in one namespace different names', () => {
    const names = (release: string) =>
      render({ files: ['values-trial.yaml'], release })
        .split(/^---$/m)
        .map((text) => parse(text))
        .filter((resource) => resource !== null)
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const blue = new Set(names('blue'));
    expect(blue.size).toBeGreaterThan(50);
    expect(names('green').filter((name) => blue.has(name))).toEqual([]);
  });

  it.each(Object.keys(scenarios))(
    '%s: no selector of a release matches pods of another release in the same namespace',
    (scenario) => {
      const own = 'app.kubernetes.io/instance';
      /** All selectors of the platform's pods; selectors of other pods name no component. */
      const selectors = (it: unknown, path: string): [string, Record<string, string>][] => {
        if (typeof it !== 'object' || it === null) return [];
        return Object.entries(it).flatMap(([key, value]) => {
          const here = `${path}.${key}`;
          const labels = (value as { matchLabels?: Record<string, string> })?.matchLabels ?? value;
          const found: [string, Record<string, string>][] =
            /selector$/i.test(key) && JSON.stringify(labels)?.includes('app.kubernetes.io/')
              ? [[here, labels]]
              : [];
          return [...found, ...selectors(value, here)];
        });
      };
      const found = resources({ ...scenarios[scenario], release: 'blue' }).flatMap((r) =>
        selectors(r['spec'], `${r.kind} ${r.metadata.name}`),
      );
      expect(found.length).toBeGreaterThan(80);
      expect(found.filter(([, labels]) => labels[own] !== 'blue')).toEqual([]);
    },
  );
});

describeWith(['helm', 'kubeconform'], 'kubeconform (strict)', () => {
  itUnless(noSchemas).each(Object.keys(scenarios))('accepts every resource: %s', (scenario) => {
    const location = `${schemasFolder}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
    const args = [
      '-strict',
      '-summary',
      '-output',
      'json',
      '-schema-location',
      location,
      '-skip',
      foreignKinds,
    ];
    const input = render(scenarios[scenario]);
    const report = JSON.parse(runTool('kubeconform', args, { input }).stdout);
    expect(report.resources).toEqual([]);
    expect(report.summary.valid).toBeGreaterThan(50);
  });
});

describeWith(['helm', 'kube-score'], 'kube-score', () => {
  it.each(Object.keys(scenarios))('finds nothing critical that is not accepted: %s', (scenario) => {
    const args = ['score', '--kubernetes-version', 'v1.30', '--output-format', 'ci', '-'];
    const found = runTool('kube-score', args, {
      input: render(scenarios[scenario]),
    }).stdout;
    expect(found).toContain('[OK]');
    const critical = found.split('\n').filter((line) => line.startsWith('[CRITICAL]'));
    const open = critical.filter(
      (line) => !accepted.some(({ text, of }) => text.test(line) && of.test(line)),
    );
    expect(open).toEqual([]);
  });

  it('every accepted finding still occurs', () => {
    const args = ['score', '--kubernetes-version', 'v1.30', '--output-format', 'ci', '-'];
    const found = runTool('kube-score', args, {
      input: render(scenarios['trial']),
    }).stdout;
    const lines = found.split('\n').filter((line) => line.startsWith('[CRITICAL]'));
    for (const { text, of } of accepted) {
      expect(lines.filter((line) => text.test(line) && of.test(line))).not.toEqual([]);
    }
  });
});
