import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';
import { runTool } from '../../support/tools.ts';

export const chartFolder = resolve(import.meta.dirname, '../../../charts/headset-cloud');

/** A Kubernetes resource, as far as the tests look at it. */
export interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: the tests read many kinds; kubeconform validates their schemas.
  readonly [field: string]: any;
}

/** Oldest and newest version of Kubernetes for which the chart is checked. */
export const kubeVersions = ['1.30.0', '1.35.4'] as const;

/** A file of the chart as an object. */
export const chartYaml = (file: string) => parse(readFileSync(join(chartFolder, file), 'utf8'));

export interface Rendering {
  /** Values files of the chart. */
  readonly files?: readonly string[];
  /** Values with priority over the files, as in a later file. */
  readonly values?: unknown;
  readonly release?: string;
  readonly namespace?: string;
  readonly kubeVersion?: string;
  /** Folder of another chart than the project's. */
  readonly chart?: string;
}

const rendered = new Map<string, string>();

/** The chart's manifests; equal values are rendered once. Throws with Helm's message if the values are rejected. */
export function render(of: Rendering = {}): string {
  const key = JSON.stringify(of);
  const text = rendered.get(key) ?? runHelm(of);
  rendered.set(key, text);
  return text;
}

function runHelm(of: Rendering): string {
  const chart = of.chart ?? chartFolder;
  const args = ['template', of.release ?? 'trial', chart, '--namespace', of.namespace ?? 'headset'];
  args.push('--kube-version', of.kubeVersion ?? kubeVersions[1]);
  for (const file of of.files ?? []) args.push('--values', join(chartFolder, file));
  if (of.values !== undefined) args.push('--values', '-');
  const { status, stdout, stderr } = runTool('helm', args, { input: JSON.stringify(of.values ?? {}) });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

const parsed = new Map<string, Resource | null>();

/** The chart's resources. Most of them are equal in all renderings, so each text is parsed once. */
export function resources(of: Rendering = {}): Resource[] {
  return render(of)
    .split(/^---$/m)
    .flatMap((text) => {
      let resource = parsed.get(text);
      if (resource === undefined) {
        resource = parse(text) as Resource | null;
        parsed.set(text, resource);
      }
      return resource === null ? [] : [structuredClone(resource)];
    });
}

/** The component that a resource, or the pods that a selector matches, belong to. */
export const componentOf = (labels: Record<string, string> | undefined): string =>
  labels?.['app.kubernetes.io/component'] ?? '';

/** Folder of the JSON schemas of Kubernetes' own kinds, for kubeconform, which would load them from the internet. */
export const schemasFolder = process.env['KUBE_SCHEMAS'];

/** Why kubeconform cannot check manifests; undefined if it can. */
export const noSchemas = schemasFolder ? undefined : 'KUBE_SCHEMAS is not set';
