import { randomBytes } from 'node:crypto';
import { type Admin, createAdmin } from '@headset-cloud/demo/provision.ts';
import type { Backing } from '@headset-cloud/demo/stack/backing.ts';
import { serviceNames } from '@headset-cloud/runtime/service-names.ts';
import { request } from 'undici';
import { chartFolder } from '../headset-cloud/chart.ts';
import { componentOf, isReady } from './cluster.ts';
import type { LoadedImage } from './images.ts';
import type { Namespace } from './namespace.ts';

/** The components of a release, without the site. */
export const components: readonly string[] = [...serviceNames, 'gateway'];

/** Networks of pods and of the machine that runs the test. */
const privateNetworks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];

/** Name of the Secret that `applyStores` creates. */
const secret = 'stores';

/** Creates the Secret with the addresses of stores outside the cluster. Returns the operators' token. */
export async function applyStores(namespace: Namespace, backing: Backing): Promise<{ adminToken: string }> {
  const adminToken = randomBytes(32).toString('hex');
  const { s3Environment: s3 } = backing;
  const credentials = s3
    ? [
        '[default]',
        `aws_access_key_id = ${s3.AWS_ACCESS_KEY_ID}`,
        `aws_secret_access_key = ${s3.AWS_SECRET_ACCESS_KEY}`,
        '',
      ].join('\n')
    : '';
  await namespace.apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secret },
    stringData: {
      'mongodb-uri': backing.mongodbUri,
      'secret-key': randomBytes(32).toString('hex'),
      'admin-token': adminToken,
      's3-credentials': credentials,
    },
  });
  return { adminToken };
}

/** Values of a trial with external stores and its own issuer. */
export function trialValues(
  namespace: Namespace,
  backing: Backing,
  images: { readonly platform: LoadedImage; readonly test: LoadedImage },
  replicas: number,
) {
  const { s3Environment: s3 } = backing;
  const named = ({ repository, tag }: LoadedImage) => ({ repository, tag });
  const autoscaled = ['gateway', 'devices', 'transactions'];
  const busy = [...autoscaled, 'notifier', 'device-link'];
  return {
    image: named(images.platform),
    trial: { enabled: true, stores: false, issuer: true, image: named(images.test) },
    secrets: {
      mongodbUri: { name: secret },
      secretKey: { name: secret },
      adminToken: { name: secret },
      ...(s3 && { s3Credentials: { name: secret } }),
    },
    mongodb: { databasePrefix: `${namespace.name.replaceAll('-', '_')}_` },
    // Without a prefix, which release 0.1.0 does not know.
    kafka: {
      ...{ brokers: backing.kafkaBrokers, replicationFactor: 1 },
      ...(backing.kafkaPrefix && { prefix: backing.kafkaPrefix }),
    },
    ...(s3 && { s3: { bucket: s3.S3_BUCKET, region: s3.S3_REGION, endpoint: s3.S3_ENDPOINT } }),
    callbacks: { allowAddresses: privateNetworks },
    headsets: { type: 'ClusterIP' },
    components: Object.fromEntries(
      components.map((name) => [
        name,
        // Without a bucket, files lie on one pod's disk.
        {
          replicas: name === 'updates' && !s3 ? 1 : replicas,
          // Half of the chart's: a small node can run all pods of two versions. With 10m for all, the kernel gave
          // busy pods as little as starting pods, and calls were rejected for up to 40 s.
          resources: { requests: { cpu: busy.includes(name) ? '50m' : '25m' } },
          ...(autoscaled.includes(name) && { maxReplicas: 0 }),
        },
      ]),
    ),
  };
}

export const releaseName = 'trial';

/** Installs or upgrades the chart and waits until everything is ready. */
export async function deploy(
  namespace: Namespace,
  verb: 'install' | 'upgrade',
  values: object,
): Promise<void> {
  const args = [verb, releaseName, chartFolder, '--values', '-', '--wait', '--timeout', '4m'];
  try {
    await namespace.helm(args, JSON.stringify(values));
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await whatIsWrong(namespace)}`);
  }
}

/** States and last log lines of pods that are not ready, and warnings of the namespace. */
export async function whatIsWrong(namespace: Namespace): Promise<string> {
  const unready = (await namespace.pods()).filter((pod) => !isReady(pod) && pod.status.phase !== 'Succeeded');
  const logs = unready.slice(0, 3).map(async ({ metadata: { name } }) => {
    const log = await namespace
      .kubectl(['logs', name, '--tail', '20'])
      .catch((error: Error) => error.message);
    return `── ${name}\n${log}`;
  });
  const events = namespace.kubectl(['get', 'events', '--field-selector', 'type=Warning']);
  const pods = namespace.kubectl(['get', 'pods', '--output', 'wide']);
  return (await Promise.all([pods, events, ...logs])).join('\n');
}

/** Addresses of a release's Services and pods for the machine that runs the test. */
export interface Listeners {
  readonly apiUrl: string;
  readonly tokenUrl: string;
  /** host:port of the headsets' Service. */
  readonly headsets: string;
  /** A client of the trial issuer. */
  readonly client: { readonly clientId: string; readonly clientSecret: string };
  /** The operators' API, at one currently ready pod of each service. */
  readonly admin: Admin;
  /** The metrics of transactions. */
  metrics(): Promise<string>;
}

export async function openListeners(namespace: Namespace, adminToken: string): Promise<Listeners> {
  const { items } = JSON.parse(await namespace.kubectl(['get', 'services', '--output', 'json']));
  const clusterIp = (name: string): string =>
    items.find((one: { metadata: { name: string } }) => one.metadata.name === `${releaseName}-${name}`)?.spec
      .clusterIP;
  const ready = (await namespace.pods()).filter(isReady);
  const podIp = (component: string): string => {
    const pod = ready.find((one) => componentOf(one) === component);
    if (!pod?.status.podIP) throw new Error(`no pod of ${component} is ready`);
    return pod.status.podIP;
  };
  const at = (component: string) => `http://${podIp(component)}:9100`;
  const args = ['get', 'secret', `${releaseName}-trial`, '--output', 'json'];
  const { data } = JSON.parse(await namespace.kubectl(args));
  const clients = JSON.parse(Buffer.from(data['issuer-clients.json'], 'base64').toString());
  const admin = createAdmin(
    {
      devices: at('devices'),
      transactions: at('transactions'),
      notifier: at('notifier'),
      updates: at('updates'),
      connectivity: at('connectivity'),
      communication: at('communication'),
      billing: at('billing'),
    },
    adminToken,
  );
  return {
    apiUrl: `http://${clusterIp('gateway')}:8080`,
    tokenUrl: `http://${podIp('trial-issuer')}:8081/token`,
    headsets: `${clusterIp('headsets')}:7443`,
    client: clients.find(({ clientId }: { clientId: string }) => clientId === 'trial'),
    admin,
    async metrics() {
      const headers = { authorization: `Bearer ${adminToken}` };
      return (await request(`${at('transactions')}/metrics`, { headers })).body.text();
    },
  };
}
