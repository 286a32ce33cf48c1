import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { runTool } from '../../support/tools.ts';
import type { Cluster } from './cluster.ts';
import { filesInZip } from './zip.ts';

/** Where definitions of foreign kinds lie in Go modules. */
const modules: readonly { readonly module: string; readonly files: RegExp }[] = [
  {
    module: 'github.com/cert-manager/cert-manager@v1.21.2',
    files: /\/deploy\/crds\/[^/]+\.yaml$/,
  },
  {
    module: 'github.com/prometheus-operator/prometheus-operator@v0.80.1',
    files: /\/example\/prometheus-operator-crd\/[^/]+\.yaml$/,
  },
  {
    module: 'sigs.k8s.io/gateway-api@v1.7.0',
    files: /\/config\/crd\/standard\/gateway\.networking\.k8s\.io_[a-z]+\.yaml$/,
  },
];

interface Definition {
  readonly kind: string;
  readonly metadata: { readonly name: string };
}

/** The custom resource definitions of cert-manager, the Prometheus operator and the Gateway API. */
function definitions(): Definition[] {
  const folder = mkdtempSync(join(tmpdir(), 'headset-cloud-crds-'));
  try {
    const found = modules.flatMap(({ module, files }) =>
      [...filesInZip(readFileSync(archiveOf(module, folder)), files).values()].map(
        (text) => parse(text.toString()) as Definition,
      ),
    );
    return found.filter(({ kind }) => kind === 'CustomResourceDefinition');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The module's archive in Go's cache. */
function archiveOf(module: string, cwd: string): string {
  const { stdout, stderr } = runTool('go', ['mod', 'download', '-json', module], {
    cwd,
    env: { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' },
  });
  // A module that wants a newer Go is reported as an error, though its archive has been verified and kept.
  const zip = stdout ? (JSON.parse(stdout) as { Zip?: string; Error?: string }) : {};
  if (!zip.Zip) throw new Error(`go mod download ${module}: ${zip.Error ?? stderr}`);
  return zip.Zip;
}

/**
 * Applies the missing definitions to the cluster, and waits until the cluster knows their kinds. Returns a function that
 * removes the applied definitions.
 */
export async function applyDefinitions(cluster: Cluster): Promise<() => Promise<void>> {
  const has = new Set((await cluster.kubectl(['get', 'crds', '--output', 'name'])).split('\n'));
  const nameOf = ({ metadata }: Definition) =>
    `customresourcedefinition.apiextensions.k8s.io/${metadata.name}`;
  const missing = definitions().filter((one) => !has.has(nameOf(one)));
  if (missing.length === 0) return async () => {};
  const items = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: missing });
  // By the server: an annotation with the whole definition would be too long.
  await cluster.kubectl(['apply', '--server-side', '--filename', '-'], items);
  const names = missing.map(nameOf);
  await cluster.kubectl(['wait', '--for=condition=Established', '--timeout=60s', ...names]);
  return async () => {
    await cluster.kubectl(['delete', '--wait=false', '--ignore-not-found', ...names]);
  };
}
