import { randomBytes } from 'node:crypto';
import type { Backing } from '@headset-cloud/demo/stack/backing.ts';
import { serviceNames } from '@headset-cloud/kit/service.ts';
import { chartFolder } from '../headset-cloud/chart.ts';
import type { LoadedImage } from './images.ts';
import type { Namespace } from './namespace.ts';

/** The components of the platform that a release has without the site. */
export const components: readonly string[] = [...serviceNames, 'gateway'];

/** Networks of pods and of the machine that runs the test. */
const privateNetworks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16'];

/** Names of the Secret and its keys that `applyStores` makes. */
const secret = 'stores';

/** The Secret that names stores which run beside the cluster. Returns the operators' token. */
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

/** Values of a trial with stores from outside and an issuer of its own. */
export function trialValues(
  namespace: Namespace,
  backing: Backing,
  images: { readonly platform: LoadedImage; readonly test: LoadedImage },
  replicas: number,
) {
  const { s3Environment: s3 } = backing;
  const named = ({ repository, tag }: LoadedImage) => ({ repository, tag });
  const autoscaled = ['gateway', 'devices', 'transactions'];
  return {
    image: named(images.platform),
    trial: { enabled: true, stores: false, issuer: true, image: named(images.test) },
    secrets: {
      mongodbUri: { name: secret },
      secretKey: { name: secret },
      adminToken: { name: secret },
      ...(s3 && { s3Credentials: { name: secret } }),
    },
    // Names of its own, because runs may share the stores.
    mongodb: { databasePrefix: `${namespace.name.replaceAll('-', '_')}_` },
    kafka: { brokers: backing.kafkaBrokers, replicationFactor: 1, prefix: `${namespace.name}.` },
    ...(s3 && { s3: { bucket: s3.S3_BUCKET, region: s3.S3_REGION, endpoint: s3.S3_ENDPOINT } }),
    callbacks: { allowAddresses: privateNetworks },
    headsets: { type: 'ClusterIP' },
    components: Object.fromEntries(
      components.map((name) => [
        name,
        // Without a bucket, files lie on one pod's disk.
        {
          replicas: name === 'updates' && !s3 ? 1 : replicas,
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
  const args = [verb, releaseName, chartFolder, '--values', '-', '--wait', '--timeout', '6m'];
  await namespace.helm(args, JSON.stringify(values));
}
