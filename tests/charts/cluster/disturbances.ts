import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { type Cluster, componentOf, isReady } from './cluster.ts';
import type { Namespace } from './namespace.ts';
import { components, releaseName } from './platform.ts';
import type { PodsWatch } from './pods.ts';

const patience = { timeoutMs: 240_000, intervalMs: 50 };

/** Waits until each component has its ready pods. */
export async function allReady(watch: PodsWatch, replicas: number): Promise<void> {
  const ready = (component: string) => readyOf(watch, component) >= replicas;
  await waitFor('all pods to be ready', () => components.every(ready), patience);
}

function readyOf(watch: PodsWatch, component: string): number {
  return watch.current().filter((pod) => componentOf(pod) === component && isReady(pod)).length;
}

export async function rollback(namespace: Namespace, revision: number): Promise<void> {
  await namespace.helm(['rollback', releaseName, String(revision), '--wait', '--timeout', '6m']);
}

/** `kubectl rollout restart` of all components at once. */
export async function restartAll(namespace: Namespace): Promise<void> {
  const deployments = components.map((name) => `deployment/${releaseName}-${name}`);
  await namespace.kubectl(['rollout', 'restart', ...deployments]);
  for (const deployment of deployments) {
    await namespace.kubectl(['rollout', 'status', deployment, '--timeout=5m']);
  }
}

/** The same, one component after the other: for nodes that have no processor time to spare. */
export async function restartInTurn(namespace: Namespace): Promise<void> {
  for (const name of components) {
    const deployment = `deployment/${releaseName}-${name}`;
    await namespace.kubectl(['rollout', 'restart', deployment]);
    await namespace.kubectl(['rollout', 'status', deployment, '--timeout=5m']);
  }
}

/** Evicts each pod with the eviction API. The next eviction waits until all pods of the component are ready again. */
export async function evictInTurn(namespace: Namespace, watch: PodsWatch, replicas: number): Promise<void> {
  for (const pod of watch.current()) {
    const { name, uid } = pod.metadata;
    await waitFor(`${name} to be evicted`, () => evict(namespace, name), patience);
    await waitFor(
      `another pod in place of ${name}`,
      () =>
        watch.current().every(({ metadata }) => metadata.uid !== uid) &&
        readyOf(watch, componentOf(pod)) >= replicas,
      patience,
    );
  }
}

/** Evicts a pod. Returns false if its disruption budget does not allow the eviction now. */
async function evict(namespace: Namespace, name: string): Promise<boolean> {
  const eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace: namespace.name },
  };
  const path = `/api/v1/namespaces/${namespace.name}/pods/${name}/eviction`;
  try {
    await namespace.kubectl(['create', '--raw', path, '--filename', '-'], JSON.stringify(eviction));
    return true;
  } catch (error) {
    if (/disruption budget/.test((error as Error).message)) return false;
    throw error;
  }
}

/** Kills the process of one pod of each component from outside; each is ready again before the next. */
export async function killOneOfEach(cluster: Cluster, watch: PodsWatch): Promise<void> {
  for (const component of components) {
    const pod = watch.current().find((one) => componentOf(one) === component && isReady(one));
    const id = pod?.status.containerStatuses?.[0]?.containerID?.replace(/^containerd:\/\//, '');
    if (!pod || !id) throw new Error(`no pod of ${component} is ready`);
    watch.expectDeath(`containerd://${id}`);
    await cluster.kill(id);
    await waitFor(
      `${pod.metadata.name} to be ready again`,
      () => {
        const now = watch.current().find((one) => one.metadata.uid === pod.metadata.uid);
        const [container] = now?.status.containerStatuses ?? [];
        return now && container?.containerID?.endsWith(id) === false && isReady(now);
      },
      patience,
    );
  }
}
