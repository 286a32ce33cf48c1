import { type Cluster, componentOf, isReady, type Pod, watchPods } from './cluster.ts';
import type { Namespace } from './namespace.ts';

/** The end of a container's process. */
export interface Ended {
  readonly pod: string;
  /** Exit code. */
  readonly how: string;
  readonly atMs: number;
  /** The pod was told to stop. */
  readonly told: boolean;
}

/** What happens to the pods of a namespace while it is watched. */
export interface PodsWatch {
  /** From the container's start until its pod was ready, of every pod that became ready; milliseconds. */
  readonly readyAfterMs: readonly { readonly component: string; readonly ms: number }[];
  readonly ended: readonly Ended[];
  /** The next end of this container does not count as its own. */
  expectDeath(containerId: string): void;
  close(): void;
}

export function watchEnds(cluster: Cluster, { name }: Namespace, components: readonly string[]): PodsWatch {
  const started = new Map<string, number>();
  const readyAfterMs: { component: string; ms: number }[] = [];
  const ended = new Map<string, Ended>();
  const expected = new Set<string>();
  const seen = (pod: Pod) => {
    const component = componentOf(pod);
    const [container] = pod.status.containerStatuses ?? [];
    if (!components.includes(component) || !container) return;
    const { state, lastState } = container;
    const { uid } = pod.metadata;
    // Counted from its first start: a restart waits longer each time.
    if (state.running && container.restartCount === 0 && !started.has(uid)) started.set(uid, Date.now());
    const from = started.get(uid);
    if (from !== undefined && from > 0 && isReady(pod)) {
      readyAfterMs.push({ component, ms: Date.now() - from });
      started.set(uid, 0);
    }
    for (const one of [state.terminated, lastState?.terminated]) {
      if (!one || ended.has(one.containerID) || expected.has(one.containerID)) continue;
      const told = pod.metadata.deletionTimestamp !== undefined;
      ended.set(one.containerID, {
        ...{ pod: pod.metadata.name, how: String(one.exitCode), atMs: Date.now(), told },
      });
    }
  };
  const watch = watchPods(cluster, name, ({ pod }) => seen(pod));
  return {
    readyAfterMs,
    get ended() {
      return [...ended.values()];
    },
    expectDeath: (containerId) => void expected.add(containerId),
    close: watch.close,
  };
}
