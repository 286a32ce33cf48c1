import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backing, realStackMissing, startBacking } from '@headset-cloud/demo/stack/backing.ts';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { waitFor } from '@headset-cloud/runtime/testing/wait.ts';
import { act } from '../../faults/headsets.ts';
import { type Cluster, componentOf, describeAtLength, givenCluster, isReady } from './cluster.ts';
import { allReady } from './disturbances.ts';
import { loadImage } from './images.ts';
import { type Integrators, startIntegrators } from './integrators.ts';
import { makeNamespace, type Namespace } from './namespace.ts';
import { applyStores, components, deploy, openListeners, releaseName, trialValues } from './platform.ts';
import { type PodsWatch, watchEnds } from './pods.ts';

/** Number of calls while both stores are unavailable, at most one each second. */
const callsInOutage = 300;
/** Number of calls while Kafka is unavailable, before and after the gateway is replaced; at most one every two seconds. */
const callsWithoutKafka = 22;

/** The test must not stop stores that the environment names. */
const missing = () =>
  realStackMissing() ??
  orDemanded(process.env['MONGODB_URI'] || process.env['KAFKA_BROKERS'] ? 'the stores are given' : undefined);

describeAtLength(
  'stores are unavailable for minutes',
  () => {
    let dataDir = '';
    let cluster: Cluster;
    let namespace: Namespace | undefined;
    let backing: Backing | undefined;
    let integrators: Integrators | undefined;
    let watch: PodsWatch;
    beforeAll(async () => {
      dataDir = mkdtempSync(join(tmpdir(), 'headset-cloud-outage-'));
      cluster = givenCluster();
      namespace = await makeNamespace(cluster);
      backing = await startBacking(dataDir, cluster.host);
      const images = {
        platform: await loadImage(cluster, 'platform'),
        test: await loadImage(cluster, 'test'),
      };
      const { adminToken } = await applyStores(namespace, backing);
      watch = watchEnds(cluster, namespace, components);
      await deploy(namespace, 'install', trialValues(namespace, backing, images, 1));
      const listeners = await openListeners(namespace, adminToken);
      integrators = await startIntegrators({ listeners, host: cluster.host, dataDir });
    }, 600_000);
    afterAll(async () => {
      watch?.close();
      await integrators?.stop();
      await namespace?.remove();
      await backing?.stop();
      rmSync(dataDir, { recursive: true, force: true });
    });

    it('while only Kafka is unavailable pods stay ready, a new gateway finds the services, calls are accepted, and everything recovers automatically', async () => {
      const { tenants, integrator } = integrators as Integrators;
      const { api, devices } = tenants[0] as Integrators['tenants'][number];
      const deviceId = devices[0]?.deviceId as string;
      const ids: number[] = [];
      /** Makes calls; returns the errors of calls that were not accepted. */
      const callRepeatedly = async (): Promise<string[]> => {
        const refused: string[] = [];
        let left = callsWithoutKafka;
        await waitFor(
          'all calls',
          async () => {
            const { status, body } = await api.app('PUT', `/devices/${deviceId}/commands`, {
              package: 'com.example.app',
              launchType: 'activity',
            });
            if (status === 201) ids.push(body.transactionId);
            else refused.push(`${status} ${body.message}`);
            left -= 1;
            return left === 0;
          },
          { timeoutMs: 240_000, intervalMs: 2000 },
        );
        return refused;
      };
      await backing?.kafka?.kill();
      expect(await callRepeatedly()).toEqual([]);
      const gateway = `deployment/${releaseName}-gateway`;
      await namespace?.kubectl(['rollout', 'restart', gateway]);
      await namespace?.kubectl(['rollout', 'status', gateway, '--timeout=5m']);
      expect(await callRepeatedly()).toEqual([]);
      const unready = watch.current().filter((pod) => !isReady(pod));
      expect(unready.map(componentOf)).toEqual([]);
      await backing?.kafka?.restart();
      const ended = (id: number) =>
        integrator.received.some(
          ({ body, verified }) =>
            verified && body.transactionId === id && body.notificationType === 'processed',
        );
      await waitFor('all callbacks', () => ids.every(ended), { timeoutMs: 120_000 });
    }, 1_200_000);

    it('calls are rejected with a retry time, no pod restarts, nothing is lost, and everything recovers automatically', async () => {
      const { tenants, integrator, headsetsOf } = integrators as Integrators;
      const { api, devices } = tenants[0] as Integrators['tenants'][number];
      const deviceId = devices[0]?.deviceId as string;
      const command = () =>
        api.app('PUT', `/devices/${deviceId}/commands`, {
          package: 'com.example.app',
          launchType: 'activity',
        });
      const ended = (id: number) =>
        integrator.received.some(
          ({ body, verified }) =>
            verified && body.transactionId === id && body.notificationType === 'processed',
        );
      const containers = () =>
        watch.current().map((pod) => pod.status.containerStatuses?.[0]?.containerID ?? '');
      const before = containers().sort();
      const accepted = (await command()).body.transactionId;

      await Promise.all([backing?.mongo?.kill(), backing?.kafka?.kill()]);
      const customData = { success: true, customData: 'both stores were away' };
      expect(await act(headsetsOf(deviceId), deviceId, { action: 'report', customData })).toBe(true);
      const answers: string[] = [];
      await waitFor(
        'the end of the outage',
        async () => {
          const { status, headers } = await command();
          answers.push(`${status} ${Number(headers['retry-after']) > 0 ? 'with' : 'without'} Retry-After`);
          return answers.length === callsInOutage;
        },
        { timeoutMs: 1_800_000, intervalMs: 1000 },
      );
      expect([...new Set(answers)].filter((one) => !/^50[03] with /.test(one))).toEqual([]);
      const unready = components.filter((name) =>
        watch.current().some((pod) => componentOf(pod) === name && !isReady(pod)),
      );
      expect(unready).toContain('transactions');

      await Promise.all([backing?.mongo?.restart(), backing?.kafka?.restart()]);
      const next = await waitFor(
        'a 201',
        async () => {
          const { status, body } = await command();
          return status === 201 && (body.transactionId as number);
        },
        { timeoutMs: 120_000, intervalMs: 200 },
      );
      await waitFor('both callbacks', () => ended(accepted) && ended(next), { timeoutMs: 120_000 });
      await waitFor(
        'the headset’s report during the outage',
        () => integrator.received.some(({ body }) => body.customData === 'both stores were away'),
        { timeoutMs: 120_000 },
      );
      await allReady(watch, 1);
      expect(containers().sort()).toEqual(before);
    }, 2_400_000);
  },
  missing,
);
