import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backing, realStackMissing, startBacking } from '@headset-cloud/demo/stack/backing.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { itIfLong } from '../../support/long.ts';
import { type Cluster, componentOf, describeOnCluster, givenCluster } from './cluster.ts';
import { type Usage, usageOf } from './figures.ts';
import { type LoadedImage, loadImage } from './images.ts';
import { makeNamespace, type Namespace } from './namespace.ts';
import { applyStores, components, deploy, releaseName, trialValues } from './platform.ts';
import { watchEnds } from './pods.ts';

/** Components of which a pod is replaced: one per kind of listener. */
const replaced = ['gateway', 'transactions', 'device-link'];

/** Time between two samples of the kubelet, over which the processor time is measured. */
const idleMs = 20_000;

describeOnCluster(
  'a trial on a cluster, one pod of each component',
  () => {
    let dataDir = '';
    let cluster: Cluster;
    let namespace: Namespace | undefined;
    let backing: Backing | undefined;
    let platform: LoadedImage;
    beforeAll(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'headset-cloud-trial-'));
      cluster = givenCluster();
      namespace = await makeNamespace(cluster);
      backing = await startBacking(dataDir, cluster.host);
      platform = await loadImage(cluster, 'platform');
      const test = await loadImage(cluster, 'test');
      await applyStores(namespace, backing);
      await deploy(namespace, 'install', trialValues(namespace, backing, { platform, test }, 1));
    }, 600_000);
    afterAll(async () => {
      await namespace?.remove();
      await backing?.stop();
      rmSync(dataDir, { recursive: true, force: true });
    });

    it('passes `helm test`: every process is ready; ctl, a simulated headset, both signed callbacks', async () => {
      const said = await (namespace as Namespace).helm(['test', releaseName, '--timeout', '4m', '--logs']);
      expect(said).toContain('Phase:          Succeeded');
      expect(said).toContain('The core loop works.');
      // The pod of every installation.
      for (const component of components) expect(said).toMatch(new RegExp(`^${component} +\\S+ +yes`, 'm'));
    }, 300_000);

    it('runs from an image of less than 90 MB, compressed', () => {
      process.stderr.write(`image: ${(platform.compressedBytes / 1e6).toFixed(1)} MB compressed\n`);
      expect(platform.compressedBytes).toBeLessThan(90e6);
    });

    // The figures depend on the machine.
    itIfLong(
      'uses little memory while nothing happens (TEST_LONG=1)',
      async () => {
        const pods = await (namespace as Namespace).pods();
        const wanted = new Set(
          pods.filter((pod) => components.includes(componentOf(pod))).map(({ metadata }) => metadata.name),
        );
        const sample = async () => {
          const usage = await usageOf(cluster, namespace as Namespace, wanted);
          return usage.size === wanted.size ? usage : undefined;
        };
        const first = await waitFor('a first sample of all pods', sample, { intervalMs: 500 });
        const last = await waitFor(
          'a later sample',
          async () => {
            const now = await sample();
            const later = [...(now ?? [])].every(
              ([name, { atMs }]) => atMs >= (first.get(name) as Usage).atMs + idleMs,
            );
            return later ? now : undefined;
          },
          { timeoutMs: 90_000, intervalMs: 500 },
        );
        const memory = [...last.values()].reduce((sum, one) => sum + one.workingSetBytes, 0);
        const cores = [...last].reduce((sum, [name, one]) => {
          const before = first.get(name) as Usage;
          return sum + (one.cpuNanoseconds - before.cpuNanoseconds) / 1e6 / (one.atMs - before.atMs);
        }, 0);
        process.stderr.write(
          `nine services, idle: ${(memory / 2 ** 30).toFixed(2)} GiB (goal 1.2), ${cores.toFixed(3)} cores (goal 0.15)\n`,
        );
        expect(wanted.size).toBe(components.length);
        // A generous limit: machines differ.
        expect(memory).toBeLessThan(1.6 * 2 ** 30);
      },
      180_000,
    );

    it('a deleted pod is replaced by a pod that becomes ready', async () => {
      const watch = watchEnds(cluster, namespace as Namespace, replaced);
      const times: string[] = [];
      try {
        for (const component of replaced) {
          const ready = () => watch.readyAfterMs.filter((one) => one.component === component);
          const gone = await waitFor('its pod', () =>
            watch.current().find((pod) => componentOf(pod) === component && ready().length === 1),
          );
          await (namespace as Namespace).kubectl(['delete', 'pod', gone.metadata.name, '--wait=false']);
          const { ms } = await waitFor(`another pod of ${component}`, () => ready()[1], {
            timeoutMs: 120_000,
          });
          times.push(`${component} ${ms} ms`);
        }
      } finally {
        watch.close();
      }
      process.stderr.write(`pod started → ready, quiet node: ${times.join(', ')} (goal 5 s)\n`);
    }, 420_000);
  },
  realStackMissing,
);
