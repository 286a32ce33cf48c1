import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Backing, realStackMissing, type SharedBacking } from '@headset-cloud/demo/stack/backing.ts';
import { orDemanded } from '@headset-cloud/demo/stack/demand.ts';
import { type Stack, type StackKind, startStack } from '@headset-cloud/demo/stack/stack.ts';
import { createNetwork, type Network } from '../faults/network/network.ts';
import { withoutLimits } from '../support/limits.ts';
import { instancesWanted, ofEveryService } from './instances.ts';

declare global {
  var headsetStack: Stack | undefined;
  /** The listeners in front of several instances. */
  var headsetListeners: Network | undefined;
}

/** Processes that are started from the sources of an earlier release (`make mixed`). */
const ofRelease = new Set(process.env['MIXED_PARTS']?.split(',').filter(Boolean));

/**
 * Starts one platform for the whole suite, on the stack that STACK names. With INSTANCES the real stack's
 * services and gateway run several times each, and connections from outside are distributed over them.
 */
export default async function setup(): Promise<void> {
  const kind: StackKind = process.env['STACK'] === 'real' ? 'real' : 'embedded';
  const missing = kind === 'real' ? orDemanded(realStackMissing()) : undefined;
  if (missing) {
    process.stderr.write(`\nSkipped: the real stack cannot run on this machine: ${missing}\n`);
    process.env['HEADSET_STACK_MISSING'] = missing;
    return;
  }
  const instances = kind === 'real' ? instancesWanted() : 1;
  const dataDir = mkdtempSync(join(tmpdir(), `headset-cloud-e2e-${kind}-`));
  const stack = await startStack({
    kind,
    dataDir,
    clients: [],
    instances: ofEveryService(instances),
    gateways: instances,
    sourcesOf: (name) => (ofRelease.has(name) ? process.env['MIXED_RELEASE'] : undefined),
    env: {
      ...withoutLimits,
      // The release uses plaintext inside the platform: this is the mode during an upgrade.
      ...(ofRelease.size > 0 && { RPC_TLS_MODE: 'permissive' }),
      NOTIFIER_BACKOFF_FIRST_MS: '50',
      NOTIFIER_UNSET_RETRY_MS: '200',
      NOTIFIER_PROBE_MAX_MS: '500',
      COMMUNICATION_PART_BYTES: String(5 * 1024 * 1024),
      COMMUNICATION_BACKOFF_FIRST_MS: '50',
      COMMUNICATION_BACKOFF_MAX_MS: '500',
      COMMUNICATION_UPLOAD_STALL_MS: '2000',
      COMMUNICATION_SIGNED_URL_ATTEMPTS: '2',
      COMMUNICATION_SIGNED_URL_RENEWALS: '1',
      // Short, so that a disconnected headset is offline within a test.
      DEVICE_LINK_OFFLINE_AFTER_MS: '2000',
      // Short, so that a test does not wait for the next check.
      DEVICE_LINK_KEY_CHECK_MS: '100',
      // Short, so that a headset needs several URLs in a test.
      UPDATES_DOWNLOAD_URL_SECONDS: '3',
      // Tests of retries and of progress cannot wait for the default intervals.
      TRANSACTIONS_RETRY_INTERVAL_MS: '0',
      TRANSACTIONS_PROGRESS_INTERVAL_MS: '0',
      // Short, so that slow requests end within a test.
      HEADERS_TIMEOUT_MS: '2000',
      REQUEST_TIMEOUT_MS: '4000',
    },
  });
  globalThis.headsetStack = stack;
  const { issuerUrl, tokenUrl, filesUrl, admin, adminUrls, oneProcess } = stack;
  process.env['HEADSET_STACK'] = JSON.stringify({
    ...{ kind, oneProcess, dataDir, issuerUrl, tokenUrl, filesUrl, admin, adminUrls },
    ...(await listenersTo(stack)),
    clientsFile: join(dataDir, 'issuer-clients.json'),
    ...(stack.backing && { backing: addressesOf(stack.backing) }),
  });
}

function addressesOf({ mongodbUri, kafkaBrokers, s3Environment }: Backing): SharedBacking {
  return { mongodbUri, kafkaBrokers, s3Environment };
}

/** Addresses for clients; connections are distributed over the instances of a service. */
async function listenersTo(
  stack: Stack,
): Promise<Pick<Stack, 'apiUrl' | 'deviceLinkUrl' | 'soraWebhookUrl'>> {
  const { apiUrl, deviceLinkUrl, soraWebhookUrl } = stack;
  if (stack.gatewayAddresses.length === 1) return { apiUrl, deviceLinkUrl, soraWebhookUrl };
  const listeners = createNetwork();
  globalThis.headsetListeners = listeners;
  return {
    apiUrl: `http://${await listeners.listener('integrators>gateway', stack.gatewayAddresses)}`,
    deviceLinkUrl: await listeners.listener('headsets>device-link', stack.deviceLinkUrls),
    soraWebhookUrl: `http://${await listeners.listener('sora>communication', stack.soraWebhookAddresses)}`,
  };
}
