import { type Cluster, componentOf, isReady, type Pod, watchPods } from './cluster.ts';
import type { Namespace } from './namespace.ts';

/** The end of a container's process. */
export interface Ended {
  readonly pod: string;
  /** Exit code. */
  readonly how: string;
  readonly atMs: number;
  /** True if the pod's deletion was requested. */
  readonly requested: boolean;
}

/** Events of the pods of a namespace while it is watched. */
export interface PodsWatch {
  /**
   * Time from the container's start until its pod was ready, for every pod that became ready; milliseconds, up to
   * one second too long, because the kubelet reports the start in whole seconds.
   */
  readonly readyAfterMs: readonly { readonly component: string; readonly ms: number }[];
  readonly ended: readonly Ended[];
  /** The components' current pods, without those being removed. */
  current(): Pod[];
  /** Excludes the next end of this container from the unexpected ends. */
  expectDeath(containerId: string): void;
  close(): void;
}

/** `onPod` gets each state of the components' pods. */
export function watchEnds(
  cluster: Cluster,
  { name }: Namespace,
  components: readonly string[],
  onPod: (pod: Pod) => void = () => {},
): PodsWatch {
  const wasReady = new Set<string>();
  const readyAfterMs: { component: string; ms: number }[] = [];
  const ended = new Map<string, Ended>();
  const expected = new Set<string>();
  const pods = new Map<string, Pod>();
  const seen = (pod: Pod) => {
    const component = componentOf(pod);
    const [container] = pod.status.containerStatuses ?? [];
    if (!components.includes(component) || !container) return;
    onPod(pod);
    const { state, lastState } = container;
    const { uid } = pod.metadata;
    // Later restarts wait longer, so only first starts count.
    if (state.running && container.restartCount === 0 && isReady(pod) && !wasReady.has(uid)) {
      readyAfterMs.push({ component, ms: Date.now() - Date.parse(state.running.startedAt) });
      wasReady.add(uid);
    }
    for (const one of [state.terminated, lastState?.terminated]) {
      if (!one || ended.has(one.containerID) || expected.has(one.containerID)) continue;
      const requested = pod.metadata.deletionTimestamp !== undefined;
      ended.set(one.containerID, {
        ...{ pod: pod.metadata.name, how: String(one.exitCode), atMs: Date.now(), requested },
      });
    }
  };
  const watch = watchPods(cluster, name, ({ type, pod }) => {
    if (type === 'DELETED') pods.delete(pod.metadata.uid);
    else pods.set(pod.metadata.uid, pod);
    seen(pod);
  });
  return {
    readyAfterMs,
    get ended() {
      return [...ended.values()];
    },
    current: () =>
      [...pods.values()].filter(
        (pod) => components.includes(componentOf(pod)) && !pod.metadata.deletionTimestamp,
      ),
    expectDeath: (containerId) => void expected.add(containerId),
    close: watch.close,
  };
}
