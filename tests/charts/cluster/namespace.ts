import { randomBytes } from 'node:crypto';
import type { Cluster, Pod } from './cluster.ts';

/** A namespace that a test made for itself, with restricted Pod Security. */
export interface Namespace {
  readonly name: string;
  kubectl(args: readonly string[], input?: string): Promise<string>;
  helm(args: readonly string[], input?: string): Promise<string>;
  /** Applies resources; they may only be the namespace's own. */
  apply(...resources: object[]): Promise<void>;
  pods(selector?: string): Promise<Pod[]>;
  remove(): Promise<void>;
}

/** Label of namespaces of tests, so that namespaces of killed runs can be found. */
const mark = 'headset-cloud-test';

export async function makeNamespace(cluster: Cluster): Promise<Namespace> {
  const name = `${mark}-${randomBytes(4).toString('hex')}`;
  const labels = {
    [mark]: 'true',
    'pod-security.kubernetes.io/enforce': 'restricted',
    // A warning for a workload with pods that would be rejected.
    'pod-security.kubernetes.io/warn': 'restricted',
  };
  // `create` rejects an existing namespace.
  await cluster.kubectl(
    ['create', '--filename', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
  );
  const kubectl: Namespace['kubectl'] = (args, input) =>
    cluster.kubectl(['--namespace', name, ...args], input);
  return {
    name,
    kubectl,
    helm: (args, input) => cluster.helm(['--namespace', name, ...args], input),
    async apply(...resources) {
      const list = { apiVersion: 'v1', kind: 'List', items: resources };
      await kubectl(['apply', '--filename', '-'], JSON.stringify(list));
    },
    async pods(selector = 'app.kubernetes.io/name=headset-cloud') {
      return JSON.parse(await kubectl(['get', 'pods', '--selector', selector, '--output', 'json'])).items;
    },
    async remove() {
      await cluster.kubectl(['delete', 'namespace', name, '--wait=false']);
    },
  };
}
