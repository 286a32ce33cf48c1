import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { parse, parseAllDocuments } from 'yaml';

export const chartFolder = resolve(import.meta.dirname, '../../../charts/headset-cloud');

/** A Kubernetes resource, as far as the tests look at it. */
export interface Resource {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly labels?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: the tests read many kinds, whose form kubeconform has judged.
  readonly [field: string]: any;
}

/** Kubernetes of the oldest and the newest version that the chart is judged for. */
export const kubeVersions = ['1.30.0', '1.35.4'] as const;

/** Runs a program; undefined where it is not on PATH. */
function found(program: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Why tests with these programs are skipped; undefined when they run. Thrown where CI demands them. */
export function missingTools(...programs: string[]): string | undefined {
  const missing = programs.filter((program) => !found(program));
  return orDemanded(missing.length > 0 ? `${missing.join(', ')} not on PATH` : undefined);
}

/** `describe`, or its skipped form with the reason in its name. */
export function describeWith(programs: readonly string[], title: string, body: () => void): void {
  const missing = missingTools(...programs);
  if (missing) describe.skip(`${title} (${missing})`, body);
  else describe(title, body);
}

/** A file of the chart as an object. */
export const chartYaml = (file: string) => parse(readFileSync(join(chartFolder, file), 'utf8'));

export interface Rendering {
  /** Values files of the chart. */
  readonly files?: readonly string[];
  /** More values, as in a file that comes after them. */
  readonly values?: unknown;
  readonly release?: string;
  readonly namespace?: string;
  readonly kubeVersion?: string;
  /** Folder of another chart than the project's. */
  readonly chart?: string;
}

const rendered = new Map<string, string>();

/** The chart's manifests; the same values are rendered once. Throws with Helm's message where it refuses them. */
export function render(of: Rendering = {}): string {
  const key = JSON.stringify(of);
  const text = rendered.get(key) ?? renderAnew(of);
  rendered.set(key, text);
  return text;
}

function renderAnew(of: Rendering): string {
  const chart = of.chart ?? chartFolder;
  const args = ['template', of.release ?? 'trial', chart, '--namespace', of.namespace ?? 'headset'];
  args.push('--kube-version', of.kubeVersion ?? kubeVersions[1]);
  for (const file of of.files ?? []) args.push('--values', join(chartFolder, file));
  if (of.values !== undefined) args.push('--values', '-');
  try {
    return execFileSync('helm', args, {
      input: JSON.stringify(of.values ?? {}),
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
  } catch (error) {
    throw new Error(String((error as { stderr?: unknown }).stderr));
  }
}

/** The chart's resources. */
export function resources(of: Rendering = {}): Resource[] {
  return parseAllDocuments(render(of))
    .map((document) => document.toJS() as Resource | null)
    .filter((resource): resource is Resource => resource !== null);
}

/** The component that a resource, or the pods that a selector matches, belong to. */
export const componentOf = (labels: Record<string, string> | undefined): string =>
  labels?.['app.kubernetes.io/component'] ?? '';

/** Folder of the JSON schemas of Kubernetes' own kinds, for kubeconform, which would load them from the internet. */
export const schemasFolder = process.env['KUBE_SCHEMAS'];
