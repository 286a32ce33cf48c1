import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@headset-cloud/kit/testing/wait.ts';
import { type Cluster, componentOf, isReady, type Pod } from './cluster.ts';
import type { Namespace } from './namespace.ts';
import { components, releaseName } from './platform.ts';
import type { PodsWatch } from './pods.ts';

const patience = { timeoutMs: 240_000, intervalMs: 200 };

/** The pods of the platform's components that are not being removed. */
async function current(namespace: Namespace): Promise<Pod[]> {
  const pods = await namespace.pods();
  return pods.filter((pod) => components.includes(componentOf(pod)) && !pod.metadata.deletionTimestamp);
}

/** Waits until each component has its ready pods. */
export async function allReady(namespace: Namespace, replicas: number): Promise<void> {
  await waitFor(
    'all pods to be ready',
    async () => {
      const ready = Map.groupBy((await current(namespace)).filter(isReady), componentOf);
      return components.every((name) => (ready.get(name)?.length ?? 0) >= replicas);
    },
    patience,
  );
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

/**
 * Evicts every pod by the eviction API, as the drain of a node does: one that its budget holds back is asked
 * again when another one is ready.
 */
export async function evictAll(namespace: Namespace): Promise<{ refused: number }> {
  const left = await current(namespace);
  let refused = 0;
  const deadlineMs = Date.now() + patience.timeoutMs;
  while (left.length > 0) {
    if (Date.now() > deadlineMs) throw new Error(`${left.length} pods could not be evicted`);
    const pod = left.shift() as Pod;
    if (await evict(namespace, pod.metadata.name)) continue;
    refused += 1;
    left.push(pod);
    await delay(patience.intervalMs);
  }
  return { refused };
}

/** False where the pod's disruption budget does not allow it now. */
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
export async function killOneOfEach(cluster: Cluster, namespace: Namespace, watch: PodsWatch): Promise<void> {
  for (const component of components) {
    const pod = (await current(namespace)).find((one) => componentOf(one) === component && isReady(one));
    const id = pod?.status.containerStatuses?.[0]?.containerID?.replace(/^containerd:\/\//, '');
    if (!pod || !id) throw new Error(`no pod of ${component} is ready`);
    watch.expectDeath(`containerd://${id}`);
    await cluster.kill(id);
    await waitFor(
      `${pod.metadata.name} to be ready again`,
      async () => {
        const now = (await current(namespace)).find((one) => one.metadata.uid === pod.metadata.uid);
        const [container] = now?.status.containerStatuses ?? [];
        return now && container?.containerID?.endsWith(id) === false && isReady(now);
      },
      patience,
    );
  }
}
