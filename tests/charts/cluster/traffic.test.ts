import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Backing, realStackMissing, startBacking } from '@headset-cloud/demo/stack/backing.ts';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import type { ServerError } from '../../faults/evidence.ts';
import { unfinished } from '../../faults/gather.ts';
import type { Check } from '../../faults/verify/check.ts';
import { verify } from '../../faults/verify.ts';
import { findRelease } from '../../mixed/release.ts';
import { isLong } from '../../support/long.ts';
import { type Cluster, describeOnCluster, givenCluster } from './cluster.ts';
import { evictInTurn, killOneOfEach, restartAll, restartInTurn, rollback } from './disturbances.ts';
import { gatherEvidence } from './evidence.ts';
import { figuresOf, type Phase, type PhaseFigures, passing, quantile } from './figures.ts';
import { type LoadedImage, loadImage } from './images.ts';
import { type Integrators, startIntegrators } from './integrators.ts';
import { isOfLastRelease } from './last-release.ts';
import { makeNamespace, type Namespace } from './namespace.ts';
import { applyStores, components, deploy, openListeners, trialValues } from './platform.ts';
import { keepLogs, type PodLogs } from './pod-logs.ts';
import { type PodsWatch, watchEnds } from './pods.ts';
import { startTraffic, type Traffic } from './traffic.ts';

const replicas = 2;
const seed = 20261124;
/** Number of calls of the first phase, in which the pods are left alone. */
const quietCalls = 20;
const settleMs = 120_000;
const say = (line: string): void => void process.stderr.write(`${line}\n`);

describeOnCluster(
  'pods start and stop under load',
  () => {
    let dataDir = '';
    let cluster: Cluster;
    let namespace: Namespace;
    let backing: Backing | undefined;
    let integrators: Integrators | undefined;
    let watch: PodsWatch | undefined;
    let traffic: Traffic | undefined;
    let logs: PodLogs | undefined;
    const phases: Phase[] = [];
    const phase = async (name: string, what: () => Promise<unknown>): Promise<void> => {
      const fromMs = Date.now();
      await what();
      const one = { name, fromMs, toMs: Date.now() };
      phases.push(one);
      say(describePhase(one, figuresOf(one, (integrators as Integrators).attempts, traffic?.absences ?? [])));
    };
    /** Number of calls that were started so far; a repeated call counts once. */
    const callCount = () => new Set(integrators?.attempts.map(({ key }) => key)).size;
    let passed = 0;
    let checks: readonly Check[] = [];

    beforeAll(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'headset-cloud-cluster-'));
      cluster = givenCluster();
      namespace = await makeNamespace(cluster);
      backing = await startBacking(dataDir, cluster.host);
      const before = await versionBefore();
      const platform = await loadImage(cluster, 'platform');
      const test = await loadImage(cluster, 'test');
      const old = await loadImage(cluster, before);
      const { adminToken } = await applyStores(namespace, backing);
      // Write the images to disk first: gigabytes of pending writes would delay the writes of the stores.
      await promisify(execFile)('sync');
      // The last release does not support TLS between pods.
      const values = (image: typeof platform, mode: 'permissive' | 'required' = 'permissive') => ({
        ...trialValues(namespace, backing as Backing, { platform: image, test }, replicas),
        rpcTls: { mode },
      });
      const kept = await keepLogs(cluster, namespace.name, join(dataDir, 'pods'));
      logs = kept;
      watch = watchEnds(cluster, namespace, components, kept.note);
      const forOld = values(old);
      // In the last release services that seal nothing require the key, too.
      const secrets = { ...forOld.secrets, secretKeyForAll: true };
      await deploy(namespace, 'install', { ...forOld, secrets });
      const listeners = await openListeners(namespace, adminToken);
      const options = { listeners, host: cluster.host, dataDir };
      integrators = await startIntegrators(options);
      traffic = await startTraffic(integrators, seed);
      const loadFromMs = Date.now();
      const callsBefore = callCount();
      await phase('nothing', () =>
        waitFor('the calls of the first phase', () => callCount() >= callsBefore + quietCalls, {
          timeoutMs: 120_000,
        }),
      );
      await phase('upgrade', () => deploy(namespace, 'upgrade', values(platform)));
      if (isLong) {
        await phase('rollout restart', () => restartAll(namespace));
        await phase('rollout restart in turn', () => restartInTurn(namespace));
        await phase('eviction in turn', () => evictInTurn(namespace, watch as PodsWatch, replicas));
      }
      await phase('SIGKILL', () => killOneOfEach(cluster, watch as PodsWatch));
      if (isLong) {
        // From the release's plaintext over permissive to required, and back.
        await phase('mutual TLS required', () => deploy(namespace, 'upgrade', values(platform, 'required')));
        await phase('permissive again', () => deploy(namespace, 'upgrade', values(platform)));
      }
      await phase('rollback', () => rollback(namespace, 1));
      const load = { fromMs: loadFromMs, toMs: Date.now() };
      await traffic.end();
      say(
        `load: ${callCount()} calls, ${integrators.attempts.length} attempts in ${seconds(load.toMs - load.fromMs)}`,
      );
      const open = await settle(adminToken);
      const gathered = await gatherEvidence({
        ...{ integrators, dataDir, load, unfinished: open, ended: watch.ended },
        listeners: await openListeners(namespace, adminToken),
      });
      const evidence = { ...gathered, serverErrors: ownErrors(gathered.serverErrors, kept, old) };
      writeFileSync(join(dataDir, 'evidence.json'), JSON.stringify(evidence));
      writeFileSync(join(dataDir, 'attempts.json'), JSON.stringify(integrators.attempts));
      writeFileSync(join(dataDir, 'phases.json'), JSON.stringify({ phases, absences: traffic.absences }));
      checks = verify(evidence);
      printFigures();
    }, 1_500_000);

    afterAll(async () => {
      watch?.close();
      logs?.close();
      // After a failure the load may still be running.
      for (const { client } of integrators?.tenants ?? []) client.giveUp();
      await traffic?.end();
      await integrators?.stop();
      await namespace?.remove();
      await backing?.stop();
      if (passed < 3) say(`Kept: ${dataDir}`);
      else rmSync(dataDir, { recursive: true, force: true });
    });

    /** Waits until all work is finished and no callback arrives any more; returns unfinished work. */
    async function settle(adminToken: string): Promise<string[]> {
      const all = integrators as Integrators;
      let open: string[] = [];
      let arrived = -1;
      const isQuiet = async () => {
        const { admin, metrics } = await openListeners(namespace, adminToken);
        open = await unfinished({ ...all, admin, metrics }).catch((error: Error) => [error.message]);
        const before = arrived;
        arrived = all.integrator.arrivals.length;
        return open.length === 0 && arrived === before;
      };
      await waitFor('nothing to be unfinished', isQuiet, { timeoutMs: settleMs, intervalMs: 1000 }).catch(
        (error: Error) => {
          if (open.length === 0) throw error;
        },
      );
      return open;
    }

    function printFigures(): void {
      const ready = [...(watch?.readyAfterMs ?? [])].map(({ ms }) => ms).sort((a, b) => a - b);
      say(
        `pod started → ready: ${ready.length} pods, median ${seconds(quantile(ready, 0.5))}, longest ${seconds(ready.at(-1) ?? 0)}`,
      );
    }

    it('loses nothing and repeats no effect, by the checks of the crash test', () => {
      const violations = checks.flatMap(({ name, violations: some }) => some.map((one) => `${name}: ${one}`));
      expect(violations).toEqual([]);
      expect(checks.length).toBeGreaterThan(20);
      const callsOf = (one: Phase) => figuresOf(one, (integrators as Integrators).attempts, []).calls;
      expect(phases.filter((one) => callsOf(one) === 0)).toEqual([]);
      passed += 1;
    });

    it('every pod was replaced in each phase, unless it was killed or could stay', () => {
      // Upgrade and rollback replace all pods. In a long run, two restarts, the eviction and required mutual TLS do so
      // as well. The return to permissive may keep pods that were not removed yet. The last old pods may still be
      // stopping.
      const pods = replicas * components.length;
      const replaced = isLong ? 6 : 2;
      expect(watch?.readyAfterMs.length).toBeGreaterThanOrEqual((1 + replaced) * pods);
      expect(watch?.ended.filter(({ requested }) => requested).length).toBeGreaterThanOrEqual(
        (replaced - 1) * pods,
      );
      passed += 1;
    });

    it('every call that was rejected or interrupted succeeds with its Idempotency-Key', () => {
      const never = passing((integrators as Integrators).attempts).filter(
        ({ toMs }) => toMs === Number.POSITIVE_INFINITY,
      );
      expect(never.map(({ key, statuses }) => `${key}: ${statuses.join(', ')}`)).toEqual([]);
      passed += 1;
    });
  },
  realStackMissing,
);

/** Server errors except errors of the last release. For each error other than 503, prints lines that may explain it. */
function ownErrors(errors: readonly ServerError[], logs: PodLogs, last: LoadedImage): ServerError[] {
  const isLast = (image: string) => image.endsWith(`${last.repository}:${last.tag}`);
  return errors.filter((error) => {
    if (error.status === 503) return true;
    const lines = logs.about(error.requestId, error.atMs);
    say(`${error.status} ${error.message} (request ${error.requestId}):`);
    for (const { pod, image, line } of lines) say(`  ${pod} (${image}): ${JSON.stringify(line)}`);
    return !isOfLastRelease(lines, error.requestId, isLast);
  });
}

function describePhase(one: Phase, f: PhaseFigures): string {
  return [
    `${one.name}: ${seconds(one.toMs - one.fromMs)}, ${f.calls} calls`,
    `longest time without a 201 ${seconds(f.longestGapMs)}`,
    `${f.refused} refused, ${f.unanswered} unanswered, passed after ${seconds(f.longestDelayMs)} at most`,
    `${f.absencesMs.length} headsets away, online again after ${seconds(quantile(f.absencesMs, 0.99))} (p99)`,
  ].join('; ');
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

/** The last release. */
async function versionBefore(): Promise<{ commit: string; secondsSince1970: number }> {
  const found = findRelease(root);
  if ('skipped' in found) throw new Error(found.skipped);
  const time = execFileSync('git', ['log', '-1', '--format=%ct', found.commit], { cwd: root });
  return { commit: found.commit, secondsSince1970: Number(time) };
}
