import { execFile, execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { findProgram } from '@headset-cloud/demo/stack/programs.ts';
import { isLong } from '../../support/long.ts';
import { describeUnless } from '../../support/skip.ts';

/** Maximum output of kubectl and Helm, and time limit for one command. */
const maxBuffer = 2 ** 28;
const timeout = 600_000;

/**
 * A cluster for tests, described by the environment (CONTRIBUTING.md, "The chart on a cluster"). Every command
 * names its context: the kubeconfig's current context is never used.
 */
export interface Cluster {
  readonly context: string;
  /** An address of this machine that pods can reach. */
  readonly host: string;
  /** Runs kubectl; returns its output, or throws with its error output. */
  kubectl(args: readonly string[], input?: string): Promise<string>;
  helm(args: readonly string[], input?: string): Promise<string>;
  /** Loads the image of an archive into the node. */
  load(archive: string): Promise<void>;
  /** Kills the processes of a container from outside: SIGKILL. */
  kill(containerId: string): Promise<void>;
}

const demanded = ['TEST_KUBE_CONTEXT', 'TEST_KUBE_HOST', 'TEST_KUBE_LOAD', 'TEST_KUBE_KILL'] as const;

/** Why tests on a cluster are skipped; undefined if they run. Throws if CI requires them. */
export function whyNoCluster(): string | undefined {
  const unset = demanded.filter((name) => !process.env[name]);
  const absent = ['kubectl', 'helm'].filter((program) => !findProgram(program));
  const missing = [
    ...(unset.length > 0 ? [`${unset.join(', ')} not set: no cluster is named`] : []),
    ...(absent.length > 0 ? [`${absent.join(', ')} not on PATH`] : []),
  ];
  return orDemanded(missing.length > 0 ? missing.join('; ') : undefined);
}

/** `describe`, or its skipped form with the reason in its name: no cluster, or the reason from `alsoMissing`. */
export function describeOnCluster(
  title: string,
  body: () => void,
  alsoMissing?: () => string | undefined,
): void {
  const missing = whyNoCluster() ?? alsoMissing?.();
  describeUnless(missing, title, body);
}

/** `describeOnCluster` for tests of many minutes: runs only with TEST_LONG=1, also if CI requires the other tests. */
export function describeAtLength(
  title: string,
  body: () => void,
  alsoMissing?: () => string | undefined,
): void {
  if (isLong) describeOnCluster(title, body, alsoMissing);
  else describe.skip(`${title} (takes many minutes: runs with TEST_LONG=1)`, body);
}

/** The cluster that the environment names. */
export function givenCluster(env: Readonly<Record<string, string | undefined>> = process.env): Cluster {
  const given = (name: (typeof demanded)[number]): string => {
    const value = env[name];
    if (!value) throw new Error(`${name} is not set.`);
    return value;
  };
  const context = given('TEST_KUBE_CONTEXT');
  const contexts = execFileSync('kubectl', ['config', 'get-contexts', '-o', 'name'], { encoding: 'utf8' });
  if (!contexts.split('\n').includes(context))
    throw new Error(`TEST_KUBE_CONTEXT is ${context}, which is no context of the kubeconfig.`);
  const load = words(given('TEST_KUBE_LOAD'));
  const kill = words(given('TEST_KUBE_KILL'));
  return {
    context,
    host: given('TEST_KUBE_HOST'),
    kubectl: (args, input) => run('kubectl', ['--context', context, ...args], input),
    helm: (args, input) => run('helm', ['--kube-context', context, ...args], input),
    async load(archive) {
      await run(load[0] ?? '', [...load.slice(1), archive]);
    },
    async kill(containerId) {
      await run(kill[0] ?? '', [...kill.slice(1), containerId]);
    },
  };
}

const words = (command: string): string[] => command.trim().split(/\s+/);

/** Runs a program without blocking this process, which may run the load of a test. */
function run(program: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, { maxBuffer, timeout }, (error, stdout, stderr) => {
      if (!error) resolve(stdout);
      else reject(new Error(`${program} ${args.slice(2).join(' ')}: ${stderr || stdout || error.message}`));
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** Calls `onEvent` with each state of a namespace's pods from the API server; ends with `close`. */
export function watchPods(
  { context }: Cluster,
  namespace: string,
  onEvent: (event: { readonly type: string; readonly pod: Pod }) => void,
): { close(): void } {
  const args = ['--context', context, '--namespace', namespace, 'get', 'pods', '--watch'];
  const child = spawn('kubectl', [...args, '--output-watch-events', '--output', 'json'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const killWithParent = () => child.kill();
  process.once('exit', killWithParent);
  // A line of JSON for each event.
  createInterface(child.stdout).on('line', (line) => {
    const { type, object } = JSON.parse(line);
    onEvent({ type, pod: object });
  });
  return {
    close() {
      process.off('exit', killWithParent);
      child.kill();
    },
  };
}

interface ContainerState {
  readonly running?: { readonly startedAt: string };
  readonly terminated?: { readonly containerID: string; readonly exitCode: number };
}

/** The fields of a pod that tests use. */
export interface Pod {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly spec: { readonly containers: readonly { readonly image: string }[] };
  readonly status: {
    readonly phase: string;
    readonly podIP?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly containerID?: string;
      readonly restartCount: number;
      readonly state: ContainerState;
      readonly lastState?: ContainerState;
    }[];
  };
}

export const componentOf = (pod: Pod): string => pod.metadata.labels['app.kubernetes.io/component'] ?? '';

export const isReady = (pod: Pod): boolean =>
  !pod.metadata.deletionTimestamp &&
  (pod.status.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
