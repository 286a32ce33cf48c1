import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '@headset-cloud/demo/stack/process.ts';
import { stringify } from 'yaml';
import { manualFiles } from '../../support/manual.ts';
import { describeWith } from '../../support/skip.ts';
import { runTool } from '../../support/tools.ts';
import { chartYaml, type Resource, resources } from './chart.ts';
import { foreign, type Metrics, metricsOf, mistakesIn, platformSources, selectorsOf } from './metrics.ts';
import { scenarios } from './scenarios.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly reason: string };
}
type Series = Readonly<Record<string, string>>;

const runbookFile = (alert: string) => `docs/operations/runbooks/${alert}.md`;

interface Example {
  readonly alert: string;
  /** Series, one value each minute, for 60 minutes, under which it fires for `labels`. */
  readonly fires: Series;
  readonly labels?: Readonly<Record<string, string>>;
  /** Series that are close to the threshold and valid. */
  readonly quiet: Series;
  /** Further series by description: some under which the alert fires, some under which it does not. */
  readonly alsoFires?: Readonly<Record<string, Series>>;
  readonly alsoQuiet?: Readonly<Record<string, Series>>;
}

const rules: readonly Rule[] = chartYaml('files/alerts.yaml').groups[0].rules;
/** The release with the tested alerts. */
const own = { namespace: 'hc', release: 'blue' };

/** A database's metric, from `first` on by `step` a minute, with an outage of three minutes near the end. */
const withOutage = (first: number, step: number) =>
  `${first}+${step}x50 stale _x2 ${first + 54 * step}+${step}x3`;
const calls = (status: string, each: number) => ({
  [`headset_gateway_request_duration_seconds_count{namespace="hc",pod="a",status="${status}"}`]: `0+${each}x60`,
});
/** 100 calls a minute, of which `slow` take longer than 1 s, none longer than 2.5 s. */
const latencies = (slow: number) => ({
  'headset_gateway_request_duration_seconds_bucket{namespace="hc",le="1"}': `0+${100 - slow}x60`,
  'headset_gateway_request_duration_seconds_bucket{namespace="hc",le="2.5"}': '0+100x60',
  'headset_gateway_request_duration_seconds_bucket{namespace="hc",le="+Inf"}': '0+100x60',
});
const routeCalls = (route: string, status: string, each: number) => ({
  [`headset_gateway_request_duration_seconds_count{namespace="hc",pod="a",route="${route}",status="${status}"}`]: `0+${each}x60`,
});
const rpc = (code: string, each: number) => ({
  [`headset_rpc_duration_seconds_count{namespace="hc",pod="a",rpc_service="s",code="${code}"}`]: `0+${each}x60`,
});
/** 100 calls a minute of a method, of which `slow` take longer than 1 s, none longer than 2.5 s. */
const rpcLatencies = (slow: number, method: string) =>
  Object.fromEntries(
    [
      ['1', 100 - slow],
      ['2.5', 100],
      ['+Inf', 100],
    ].map(([le, each]) => [
      `headset_rpc_duration_seconds_bucket{namespace="hc",rpc_service="s",rpc_method="${method}",le="${le}"}`,
      `0+${each}x60`,
    ]),
  );
const keysAge = (values: string) => ({
  'headset_gateway_issuer_keys_age_seconds{namespace="hc",pod="a"}': values,
});
const version = (pod: string, of: string, values: string) => ({
  [`headset_build_info{namespace="hc",pod="${pod}",version="${of}"}`]: values,
});
const bothReplicas = (metric: string, labels: string, values: string): Series =>
  Object.fromEntries(['a', 'b'].map((pod) => [`${metric}{namespace="hc",pod="${pod}"${labels}}`, values]));
const delivered = (each: number) => ({
  'headset_callback_attempts_total{namespace="hc",outcome="delivered"}': `0+${each}x60`,
});
const lag = (values: string) =>
  bothReplicas('headset_consumer_lag_events', ',group="notifier",topic="notifications"', values);
/** The series of kube-state-metrics for a pod. Without `ready`: a pod that no node can run has no such condition. */
const pod = (name: string, phase: string, ready?: string): Series => ({
  ...Object.fromEntries(
    ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'].map((one) => [
      `kube_pod_status_phase{namespace="hc",pod="${name}",uid="1",phase="${one}"}`,
      one === phase ? '1x120' : '0x120',
    ]),
  ),
  ...(ready && { [`kube_pod_status_ready{namespace="hc",pod="${name}",uid="1",condition="true"}`]: ready }),
});
const sessions = (of: Readonly<Record<string, string>>): Series =>
  Object.fromEntries(
    Object.entries(of).map(([name, values]) => [`headset_sessions{namespace="hc",pod="${name}"}`, values]),
  );
const handled = (values: string): Series => ({
  'headset_consumer_events_total{namespace="hc",pod="a",group="notifier",topic="notifications"}': values,
});

const examples: readonly Example[] = [
  {
    alert: 'HeadsetCloudApiErrors',
    fires: { ...calls('200', 97), ...calls('503', 3) },
    quiet: { ...calls('200', 99), ...calls('503', 1), ...calls('404', 50) },
  },
  {
    alert: 'HeadsetCloudRouteErrors',
    fires: { ...routeCalls('/a', '503', 1), ...routeCalls('/a', '200', 1), ...routeCalls('/b', '200', 900) },
    labels: { route: '/a' },
    alsoFires: {
      'a route without earlier calls fails': {
        'headset_gateway_request_duration_seconds_count{namespace="hc",pod="a",route="/new",status="503"}':
          '_x40 3+1x20',
      },
    },
    // One call in a hundred fails, and a route of a call in half an hour fails twice.
    quiet: {
      ...routeCalls('/a', '503', 1),
      ...routeCalls('/a', '200', 99),
      'headset_gateway_request_duration_seconds_count{namespace="hc",route="/rare",status="503"}':
        '0x29 1x20 2x10',
    },
  },
  { alert: 'HeadsetCloudApiSlow', fires: latencies(5), quiet: latencies(0.5) },
  {
    alert: 'HeadsetCloudRpcErrors',
    fires: { ...rpc('ok', 90), ...rpc('unavailable', 4), ...rpc('database_failed', 6) },
    labels: { rpc_service: 's' },
    // Errors of the caller or of an integrator's endpoint are not the service's fault.
    quiet: {
      ...rpc('ok', 50),
      ...rpc('not_found', 40),
      ...rpc('integrator_failed', 8),
      ...rpc('internal', 2),
    },
  },
  {
    alert: 'HeadsetCloudRpcSlow',
    fires: rpcLatencies(5, 'GetDevice'),
    labels: { rpc_service: 's' },
    // The other transactions wait for an integrator's endpoint.
    quiet: {
      ...rpcLatencies(0.5, 'GetDevice'),
      ...rpcLatencies(50, 'RequestSignedUrls'),
      ...rpcLatencies(50, 'GetUploadUrl'),
    },
  },
  {
    alert: 'HeadsetCloudIssuerKeysOld',
    fires: { ...keysAge('3000+60x60'), ...calls('200', 5) },
    labels: { pod: 'a' },
    // Keys are fetched with calls: at night they get old without a problem.
    quiet: { ...keysAge('3000+60x60'), ...calls('200', 0), ...calls('401', 5) },
  },
  {
    alert: 'HeadsetCloudCallersRefused',
    fires: { 'headset_rpc_handshakes_failed_total{namespace="hc",pod="a"}': '0+5x60' },
    alsoQuiet: {
      'one call was rejected long ago': {
        'headset_rpc_callers_refused_total{namespace="hc",pod="a",rpc_method="m",caller="notifier"}':
          '_x20 1x100',
      },
    },
    alsoFires: {
      'one call, the first of its caller': {
        'headset_rpc_callers_refused_total{namespace="hc",pod="a",rpc_method="m",caller="notifier"}':
          '_x53 1x7',
      },
    },
    // A rollout, in which a pod starts before its certificate is renewed.
    quiet: {
      'headset_rpc_handshakes_failed_total{namespace="hc",pod="a"}': '0 2 4 4x60',
      'headset_rpc_callers_refused_total{namespace="hc",pod="a",rpc_method="m",caller="notifier"}': '0x60',
    },
  },
  {
    alert: 'HeadsetCloudCertificateExpires',
    fires: { 'headset_rpc_certificate_expiry_timestamp_seconds{namespace="hc",pod="a"}': '604000x120' },
    labels: { pod: 'a' },
    quiet: { 'headset_rpc_certificate_expiry_timestamp_seconds{namespace="hc",pod="a"}': '2592000x120' },
  },
  {
    alert: 'HeadsetCloudHeadsetCertificateExpires',
    fires: { 'headset_link_certificate_expiry_timestamp_seconds{namespace="hc",pod="a"}': '604000x120' },
    labels: { pod: 'a' },
    quiet: { 'headset_link_certificate_expiry_timestamp_seconds{namespace="hc",pod="a"}': '2592000x120' },
  },
  {
    alert: 'HeadsetCloudTransactionsStuck',
    fires: bothReplicas('headset_transactions_oldest_open_age_seconds', ',state="created"', '0+60x60'),
    labels: { state: 'created' },
    // A transaction may wait for its headset for days.
    quiet: bothReplicas('headset_transactions_oldest_open_age_seconds', ',state="published"', '0+6000x60'),
    alsoFires: {
      'its database was unavailable for some minutes': bothReplicas(
        'headset_transactions_oldest_open_age_seconds',
        ',state="created"',
        withOutage(400, 60),
      ),
    },
  },
  {
    alert: 'HeadsetCloudActivationsStuck',
    fires: bothReplicas('headset_devices_pending_changes', '', '11x60'),
    quiet: bothReplicas('headset_devices_pending_changes', '', '6x60'),
    alsoFires: {
      'its database was unavailable for some minutes': bothReplicas(
        'headset_devices_pending_changes',
        '',
        withOutage(11, 0),
      ),
    },
  },
  {
    alert: 'HeadsetCloudCallbacksLate',
    fires: { ...bothReplicas('headset_callbacks_oldest_due_age_seconds', '', '4000+60x60'), ...delivered(0) },
    // One integrator's server is unavailable; the others accept callbacks.
    quiet: { ...bothReplicas('headset_callbacks_oldest_due_age_seconds', '', '4000+60x60'), ...delivered(5) },
    alsoFires: {
      'no notifier that runs has delivered any': {
        ...bothReplicas('headset_callbacks_oldest_due_age_seconds', '', '4000+60x60'),
        'headset_callback_attempts_total{namespace="hc",pod="a",outcome="failed"}': '1+1x60',
      },
      'its database was unavailable for some minutes': {
        ...bothReplicas('headset_callbacks_oldest_due_age_seconds', '', withOutage(4000, 60)),
        ...delivered(0),
      },
      'the pod that delivered no longer exists': {
        ...bothReplicas('headset_callbacks_oldest_due_age_seconds', '', '4000+60x60'),
        'headset_callback_attempts_total{namespace="hc",pod="old",outcome="delivered"}': '0+5x20 stale',
      },
    },
    alsoQuiet: {
      'an old and a new pod side by side': {
        ...bothReplicas('headset_callbacks_oldest_due_age_seconds', '', '4000+60x60'),
        'headset_callback_attempts_total{namespace="hc",pod="old",outcome="delivered"}': '0+5x50 stale',
        'headset_callback_attempts_total{namespace="hc",pod="new",outcome="delivered"}': '_x50 3+5x9',
      },
    },
  },
  {
    alert: 'HeadsetCloudCallbacksDead',
    fires: { 'headset_callbacks_dead_total{namespace="hc",pod="a"}': '0x30 1x30' },
    // Given up long before.
    quiet: bothReplicas('headset_callbacks_dead_total', '', '7x120'),
    alsoFires: {
      'given up before the first scrape of a new pod': {
        'headset_callbacks_dead_total{namespace="hc",pod="old"}': '7x30 stale',
        'headset_callbacks_dead_total{namespace="hc",pod="new"}': '_x31 2x29',
      },
      'its pod no longer exists': {
        'headset_callbacks_dead_total{namespace="hc",pod="old"}': '0x60',
        'headset_callbacks_dead_total{namespace="hc",pod="new"}': '_x40 2x5 stale',
      },
    },
    alsoQuiet: {
      'a rollout: old pods gave up some long ago, new ones none': {
        'headset_callbacks_dead_total{namespace="hc",pod="old"}': '7x110 stale',
        'headset_callbacks_dead_total{namespace="hc",pod="new"}': '_x109 0x11',
      },
      'Prometheus did not scrape for half an hour': {
        'headset_callbacks_dead_total{namespace="hc",pod="a"}': '7x40 _x30 7x50',
      },
    },
  },
  {
    alert: 'HeadsetCloudConsumerLag',
    fires: lag('2000+100x60'),
    labels: { group: 'notifier', topic: 'notifications' },
    quiet: { ...lag('90000-1000x60'), ...handled('0+1000x60') },
    alsoFires: {
      'a few events, none of which is handled': { ...lag('0x10 3x110'), ...handled('500x120') },
      'a few events, of a group that has handled none since its start': lag('0x10 3x110'),
      'one partition does not progress, the others do': { ...lag('0x10 40x110'), ...handled('0+10x120') },
    },
    alsoQuiet: {
      'nothing to do': { ...lag('0x120'), ...handled('500x120') },
      'events in progress under a constant load': { ...lag('8x120'), ...handled('0+600x120') },
      'one event now and then, of which a scrape sees some': {
        ...lag('0 1 0 0 1 1 0 0x20 1 1 1 0 1 0x90'),
        ...handled('0x60 1x60'),
      },
    },
  },
  {
    alert: 'HeadsetCloudDeadLetters',
    fires: bothReplicas('headset_dead_letters', ',service="notifier"', '1x60'),
    labels: { service: 'notifier' },
    quiet: bothReplicas('headset_dead_letters', ',service="notifier"', '0x60'),
  },
  {
    alert: 'HeadsetCloudAuditStoreFailing',
    // One of two replicas has records to store.
    fires: {
      'headset_audit_store_failing{namespace="hc",pod="a"}': '0x50 1x10',
      'headset_audit_store_failing{namespace="hc",pod="b"}': '0x60',
    },
    // A database that is unavailable during a failover.
    quiet: bothReplicas('headset_audit_store_failing', '', '0x56 1x3'),
  },
  {
    alert: 'HeadsetCloudAuditRecordsOwed',
    fires: bothReplicas('headset_audit_oldest_pending_age_seconds', ',service="devices"', '0x40 60+60x20'),
    labels: { service: 'devices' },
    // Each change has a pending record for a moment.
    quiet: bothReplicas('headset_audit_oldest_pending_age_seconds', ',service="devices"', '200x60'),
    alsoFires: {
      'its database was unavailable for some minutes': bothReplicas(
        'headset_audit_oldest_pending_age_seconds',
        ',service="devices"',
        withOutage(400, 60),
      ),
    },
  },
  {
    alert: 'HeadsetCloudRetentionLate',
    // Times are seconds after the first minute of a test: negative values are days before.
    fires: bothReplicas('headset_retention_completed_timestamp_seconds', ',kind="audit"', '-200000x730'),
    labels: { kind: 'audit' },
    quiet: {
      ...bothReplicas('headset_retention_completed_timestamp_seconds', ',kind="usage"', '-100000x730'),
      // The first run of an installation with many old records.
      ...bothReplicas(
        'headset_retention_completed_timestamp_seconds',
        ',kind="transactions"',
        '-1700000000x700 42000x30',
      ),
    },
  },
  {
    alert: 'HeadsetCloudIdentityShared',
    fires: bothReplicas('headset_sessions_displaced_total', ',reason="shared_identity"', '0x30 0+1x30'),
    quiet: {
      ...bothReplicas('headset_sessions_displaced_total', ',reason="shared_identity"', '7x60'),
      ...bothReplicas('headset_sessions_displaced_total', ',reason="reconnect"', '0+20x60'),
    },
  },
  {
    alert: 'HeadsetCloudHeadsetsGone',
    fires: bothReplicas('headset_sessions', '', '100x51 30x10'),
    quiet: {
      'headset_sessions{namespace="hc",pod="a"}': '100x51 0x10',
      'headset_sessions{namespace="hc",pod="b"}': '100x51 195x10',
    },
    alsoFires: {
      'no pod of device-link is left': {
        ...sessions({ a: '100x45 stale', b: '100x45 stale' }),
        'up{namespace="hc",pod="other"}': '1x60',
      },
      'all pods were replaced, and few headsets came back': sessions({
        ...{ a: '100x40 stale', b: '100x41 stale' },
        ...{ c: '_x40 20x20', d: '_x41 20x19' },
      }),
    },
    alsoQuiet: {
      'a rollout: every pod was replaced by one with another name': sessions({
        ...{ a: '100x30 stale', b: '100x32 stale' },
        ...{ c: '_x30 100x90', d: '_x32 100x88' },
      }),
      'a rollout in which the last values of pods that have ended stay for two minutes': sessions({
        ...{ a: '100x32 stale', b: '100x34 stale' },
        ...{ c: '_x30 100x90', d: '_x32 100x88' },
      }),
      'a second rollout soon after': sessions({
        ...{ a: '100x30 stale', b: '100x32 stale' },
        ...{ c: '_x30 100x20 stale', d: '_x32 100x20 stale' },
        ...{ e: '_x50 100x70', f: '_x52 100x68' },
      }),
      'fewer pods hold as many headsets': sessions({ a: '100x45 stale', b: '100x46 200x73' }),
      'few headsets, which connect and disconnect': sessions({ a: '12x50 2x69' }),
    },
  },
  {
    alert: 'HeadsetCloudUploadsUnchecked',
    fires: bothReplicas('headset_updates_checks_oldest_due_age_seconds', '', '0+60x60'),
    quiet: bothReplicas('headset_updates_checks_oldest_due_age_seconds', '', '300x60'),
    alsoFires: {
      'its database was unavailable for some minutes': bothReplicas(
        'headset_updates_checks_oldest_due_age_seconds',
        '',
        withOutage(700, 60),
      ),
    },
  },
  {
    alert: 'HeadsetCloudStorageUnavailable',
    fires: {
      'headset_updates_storage_unavailable{namespace="hc",pod="a"}': '0x50 1x10',
      'headset_updates_storage_unavailable{namespace="hc",pod="b"}': '0x60',
    },
    // A single failed check.
    quiet: bothReplicas('headset_updates_storage_unavailable', '', '0x58 1x1'),
  },
  {
    alert: 'HeadsetCloudUploadsDiskFull',
    fires: { 'headset_updates_disk_full_total{namespace="hc",pod="a"}': '0x40 1+1x20' },
    alsoFires: {
      'a new pod that repeats its checks': {
        'headset_updates_disk_full_total{namespace="hc",pod="a"}': '_x40 2+1x20',
      },
    },
    // Long before.
    quiet: bothReplicas('headset_updates_disk_full_total', '', '0x20 3x100'),
  },
  {
    alert: 'HeadsetCloudLogLinesDropped',
    labels: { pod: 'b' },
    fires: {
      'headset_log_lines_dropped_total{namespace="hc",pod="a"}': '0x60',
      'headset_log_lines_dropped_total{namespace="hc",pod="b"}': '0x40 5+20x20',
    },
    // Long before, and a new pod beside the old one.
    quiet: {
      'headset_log_lines_dropped_total{namespace="hc",pod="a"}': '0x20 300x100',
      'headset_log_lines_dropped_total{namespace="hc",pod="b"}': '_x60 0x60',
    },
  },
  {
    alert: 'HeadsetCloudSpansDropped',
    labels: { pod: 'b', reason: 'export_failed' },
    fires: {
      'headset_trace_spans_dropped_total{namespace="hc",pod="a",reason="export_failed"}': '0x60',
      'headset_trace_spans_dropped_total{namespace="hc",pod="b",reason="export_failed"}': '0+5x60',
    },
    // A burst, and a new pod beside the old one.
    quiet: {
      'headset_trace_spans_dropped_total{namespace="hc",pod="a",reason="queue_full"}': '0x20 300x100',
      'headset_trace_spans_dropped_total{namespace="hc",pod="b",reason="queue_full"}': '_x60 0x60',
    },
  },
  {
    alert: 'HeadsetCloudRecordingsLate',
    fires: bothReplicas('headset_recordings_oldest_open_age_seconds', ',state="uploading"', '15000+60x60'),
    quiet: bothReplicas('headset_recordings_oldest_open_age_seconds', ',state="waiting"', '15000+60x60'),
    alsoFires: {
      'its database was unavailable for some minutes': bothReplicas(
        'headset_recordings_oldest_open_age_seconds',
        ',state="uploading"',
        withOutage(15000, 60),
      ),
    },
  },
  {
    alert: 'HeadsetCloudRecordingsFailed',
    fires: { 'headset_recordings_ended_total{namespace="hc",outcome="failed"}': '0x30 1x30' },
    alsoFires: {
      'the first one of a process': {
        'headset_recordings_ended_total{namespace="hc",pod="a",outcome="saved"}': '0+1x60',
        'headset_recordings_ended_total{namespace="hc",pod="a",outcome="failed"}': '_x55 1x5',
      },
    },
    quiet: {
      'headset_recordings_ended_total{namespace="hc",outcome="failed"}': '4x120',
      'headset_recordings_ended_total{namespace="hc",outcome="saved"}': '0+1x60',
    },
  },
  {
    alert: 'HeadsetCloudSoraFull',
    fires: {
      ...bothReplicas('headset_sora_connections_used', ',endpoint="e"', '95x60'),
      ...bothReplicas('headset_sora_connections_limit', ',endpoint="e"', '100x60'),
    },
    // Two replicas report the same channels: their sum would be above the limit.
    quiet: {
      ...bothReplicas('headset_sora_connections_used', ',endpoint="e"', '60x60'),
      'headset_sora_connections_limit{namespace="hc",pod="a",endpoint="e"}': '100x60',
    },
    alsoFires: {
      'its database was unavailable for some minutes': {
        ...bothReplicas('headset_sora_connections_used', ',endpoint="e"', withOutage(95, 0)),
        ...bothReplicas('headset_sora_connections_limit', ',endpoint="e"', withOutage(100, 0)),
      },
    },
  },
  {
    alert: 'HeadsetCloudServiceNotReady',
    fires: {
      'headset_ready{namespace="hc",pod="a",service="devices"}': '1x40 0x80',
      'headset_ready{namespace="hc",pod="b",service="devices"}': '1x40 0x80',
      'headset_ready{namespace="hc",pod="c",service="billing"}': '1x120',
    },
    labels: { service: 'devices' },
    // One of two pods waits, and another pod starts.
    quiet: {
      'headset_ready{namespace="hc",pod="a",service="devices"}': '0x120',
      'headset_ready{namespace="hc",pod="b",service="devices"}': '1x120',
      'headset_ready{namespace="hc",pod="c",service="billing"}': '1x80 0 0 1x38',
    },
    alsoFires: {
      'one process for all services': {
        'headset_ready{namespace="hc",pod="a",service="platform"}': '1x40 0x80',
      },
    },
  },
  {
    alert: 'HeadsetCloudKafkaUnavailable',
    fires: {
      'headset_warnings{namespace="hc",pod="a",service="notifier",warning="kafka_unavailable"}': '_x40 2x80',
    },
    labels: { service: 'notifier' },
    // For a minute only, and another warning.
    quiet: {
      'headset_warnings{namespace="hc",pod="a",service="notifier",warning="kafka_unavailable"}':
        '_x40 1 1 stale _x70',
      'headset_warnings{namespace="hc",pod="b",service="updates",warning="storage_unavailable"}': '1x120',
    },
  },
  {
    alert: 'HeadsetCloudPodsNotReady',
    fires: pod('blue-devices-7c9d8f6b5-abcde', 'Running', '0x120'),
    labels: { pod: 'blue-devices-7c9d8f6b5-abcde' },
    quiet: {
      ...pod('blue-devices-7c9d8f6b5-abcde', 'Running', '0x5 1x115'),
      ...pod('blue-prepare-0123456789-abcde', 'Running', '0x120'),
    },
    alsoFires: {
      // The pod name of a long release is truncated to 63 characters, before its random part.
      'a pod with a truncated name': pod('blue-devices-7c9d8abcde', 'Running', '0x120'),
      'no node has enough resources': pod('blue-devices-7c9d8f6b5-abcde', 'Pending'),
    },
    alsoQuiet: {
      'evicted, its node keeps the record': pod('blue-devices-7c9d8f6b5-abcde', 'Failed', '0x120'),
      'ended with its node': pod('blue-devices-7c9d8f6b5-abcde', 'Succeeded', '0x120'),
      'a release with a similar name': {
        ...pod('blue-two-devices-7c9d8f6b5-abcde', 'Running', '0x120'),
        ...pod('blue-gateway-devices-7c9d8f6b5-abcde', 'Running', '0x120'),
        ...pod('light-blue-devices-7c9d8f6b5-abcde', 'Running', '0x120'),
      },
    },
  },
  {
    alert: 'HeadsetCloudNotScraped',
    fires: { 'up{namespace="hc",pod="a"}': '1x60 0x59', 'up{namespace="hc",pod="b"}': '1x120' },
    labels: { pod: 'a' },
    // A starting pod, and a completed one.
    quiet: {
      'up{namespace="hc",pod="a"}': '_x110 0 0 1x8',
      'up{namespace="hc",pod="b"}': '1x90 0 stale',
      'up{namespace="hc",pod="c"}': '1x120',
    },
    alsoFires: { 'Prometheus knows no pod': { 'headset_sessions{namespace="hc",pod="a"}': '1x40' } },
  },
  {
    alert: 'HeadsetCloudVersionsMixed',
    fires: { ...version('a', '1.2.3', '1x60'), ...version('b', '1.2.4', '1x60') },
    // An upgrade in progress.
    quiet: {
      ...version('a', '1.2.3', '1x60'),
      ...version('b', '1.2.4', '_x30 1x30'),
      ...version('c', '1.2.4', '_x30 1x30'),
    },
  },
];

/** Series with the labels of a release; series of kube-state-metrics have the pods' names instead of the release. */
const seriesOf = (series: Series, { namespace, release }: typeof own): Series =>
  Object.fromEntries(
    Object.entries(series).map(([name, values]) => [
      name
        .replace(/^(headset_\w+|up)\{/, `$1{release="${release}",`)
        .replace('pod="blue-', `pod="${release}-`)
        .replace('namespace="hc"', `namespace="${namespace}"`),
      values,
    ]),
  );

/** The minute of a series' last value: `1x3` is four values, `_x3` is three. */
const lastMinute = (values: string): number =>
  values.split(' ').reduce((sum, part) => {
    const [, missing, times = 0] = /^(_)?.*?(?:x(\d+))?$/.exec(part) ?? [];
    return sum + (missing && times ? Number(times) : Number(times) + 1);
  }, -1);

/** Test of promtool: whether the alert fires for `own` at the end; or never in the hour before it. */
function promTest({ alert, labels }: Example, title: string, series: Series, fires: 'exactly' | boolean) {
  const severity = rules.find((rule) => rule.alert === alert)?.labels.severity;
  const all = { alertname: alert, alertstate: 'firing', ...own, severity, ...labels };
  const text = Object.entries(all).map(([name, value]) => `${name}="${value}"`);
  const firing = `ALERTS{alertname="${alert}",alertstate="firing",namespace="${own.namespace}",release="${own.release}"}`;
  const expected = {
    exactly: { expr: firing, exp_samples: [{ labels: `ALERTS{${text.join(',')}}`, value: 1 }] },
    true: { expr: `count(${firing})`, exp_samples: [{ labels: '{}', value: 1 }] },
    // Not for another release or namespace either.
    false: {
      expr: `count_over_time(ALERTS{alertname="${alert}",alertstate="firing"}[1h])`,
      exp_samples: [],
    },
  };
  return {
    name: `${alert}, ${title}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      {
        ...expected[`${fires}`],
        eval_time: `${Math.max(...Object.values(series).map(lastMinute))}m`,
      },
    ],
  };
}

describeWith(['helm', 'promtool'], 'the alerts, by promtool', () => {
  let folder: string;
  let rendered: readonly Rule[];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'headset-cloud-alerts-'));
    const rendering = { ...scenarios['production'], namespace: own.namespace, release: own.release };
    const resource = resources(rendering).find(({ kind }) => kind === 'PrometheusRule');
    rendered = resource?.['spec'].groups[0].rules;
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function rulesFile(of: readonly Rule[]): string {
    const file = join(folder, 'rules.yaml');
    writeFileSync(file, stringify({ groups: [{ name: 'headset-cloud', rules: of }] }));
    return file;
  }

  /** Runs the tests with the alert's rule only: promtool would evaluate all rules for each test. */
  function promtool(alert: string, tests: readonly ReturnType<typeof promTest>[]): string {
    const rule_files = [rulesFile(rendered.filter((rule) => rule.alert === alert))];
    const file = join(folder, 'test.yaml');
    writeFileSync(file, stringify({ rule_files, evaluation_interval: '1m', tests }));
    const run = runTool('promtool', ['test', 'rules', file]);
    return `${run.stdout}${run.stderr}`;
  }

  it('are well formed', () => {
    const check = runTool('promtool', ['check', 'rules', rulesFile(rendered)]);
    expect(check.stdout).toContain(`SUCCESS: ${rules.length} rules found`);
  });

  it.each(examples.map((example) => [example.alert, example] as const))(
    '%s fires for each example, and only then',
    (_, example) => {
      const { fires, quiet, alsoFires = {}, alsoQuiet = {} } = example;
      const tests = [
        promTest(example, 'fires', seriesOf(fires, own), 'exactly'),
        promTest(example, 'is quiet', seriesOf(quiet, own), false),
        ...Object.entries(alsoFires).map(([title, series]) =>
          promTest(example, `fires: ${title}`, seriesOf(series, own), true),
        ),
        ...Object.entries(alsoQuiet).map(([title, series]) =>
          promTest(example, `is quiet: ${title}`, seriesOf(series, own), false),
        ),
      ];
      expect(promtool(example.alert, tests)).toContain('SUCCESS');
    },
  );

  it.each(examples.map((example) => [example.alert, example] as const))(
    '%s of one release does not fire for another release, or for a release of the same name in another namespace',
    (_, example) => {
      const others = [
        { ...own, release: 'green' },
        { ...own, namespace: 'other' },
      ];
      const tests = others.map((other) => {
        const series = { ...seriesOf(example.quiet, own), ...seriesOf(example.fires, other) };
        return promTest(example, `beside ${other.namespace}/${other.release}`, series, false);
      });
      expect(promtool(example.alert, tests)).toContain('SUCCESS');
    },
  );
});

describe('alerts and dashboard', () => {
  interface Panel {
    readonly title: string;
    readonly queries: readonly { readonly id: string; readonly legend?: string; readonly expr: string }[];
  }
  const panels: readonly Panel[] = chartYaml('files/dashboard.yaml').panels;
  const sources = platformSources();
  const protos = readdirSync(join(root, 'proto'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.proto') && !file.includes('node_modules'))
    .map((file) => readFileSync(join(root, 'proto', file), 'utf8'));
  const text = [...sources, ...protos].join('\n');
  const metrics: Metrics = new Map([...sources.flatMap(metricsOf), ...foreign]);
  /** The expression as the chart writes it, for some release. */
  const ownExpr = (expr: string) =>
    expr
      .replaceAll('$release', 'namespace="n", release="r"')
      .replaceAll('$pods', 'namespace="n", pod=~"r-.*"');
  /** Metrics with a selector that does not begin with the matchers of the release. */
  const unbound = (expr: string) =>
    expr.match(/\b(?:(?:headset|kube)_\w+|up\b)(?!\w|\{\$(?:release|pods)\b)/g) ?? [];
  const byOf = (expr: string) =>
    new Set(
      selectorsOf(ownExpr(expr)).selectors.flatMap(({ around }) => around.flatMap(({ by = [] }) => by)),
    );

  it('the metrics of the source are found', () => {
    const made = sources.flatMap((one) => [...one.matchAll(/new (?:Counter|Gauge|Histogram)\b/g)]).length;
    expect(
      new Set(sources.flatMap(metricsOf).map(([name]) => name.replace(/_(bucket|count|sum)$/, ''))).size,
    ).toBe(made);
    expect(metrics.get('headset_rpc_duration_seconds_bucket')?.labels).toContain('le');
    expect(metrics.get('headset_recordings_open')).toMatchObject({ kind: 'gauge', wholePlatform: true });
    expect(metrics.get('headset_recordings_open')?.labels).toContain('state');
  });

  it.each([
    ['sum(headset_nothing)', 'headset_nothing does not exist'],
    ['sum by (route) (headset_sessions)', 'headset_sessions has no label route'],
    ['sum(headset_sessions{imei="1"})', 'headset_sessions has no label imei'],
    ['max(headset_transactions_due) and on (state) up', 'headset_transactions_due has no label state'],
    ['sum(rate(headset_sessions[5m]))', 'headset_sessions is a gauge'],
    ['sum(headset_callbacks_dead_total)', 'headset_callbacks_dead_total is a counter'],
    ['headset_callbacks_due > 1', 'headset_callbacks_due is joined by nothing, not by max'],
    ['sum by (pod) (headset_callbacks_due)', 'headset_callbacks_due is joined by sum, not by max'],
    [
      'max(headset_recordings_open{state="waiting"} or headset_recordings_open{state="lost_for_ever"})',
      'state is never lost_for_ever',
    ],
    [
      'sum(rate(headset_rpc_duration_seconds_count{rpc_method!~"GetUploadUrl|GetNowhereUrl"}[5m]))',
      'rpc_method is never GetNowhereUrl',
    ],
  ])('%s would be noticed', (expr, mistake) => {
    expect(mistakesIn(expr, metrics, text)).toContain(mistake);
  });

  it('a selector that matches series of other releases would be detected', () => {
    expect(unbound('max(headset_sessions[5m]) + headset_x{a="b"} + headset_y{$release} + up')).toEqual([
      ...['headset_sessions', 'headset_x', 'up'],
    ]);
  });

  it('every panel uses existing metrics with their labels', () => {
    expect(panels.length).toBeGreaterThan(10);
    for (const panel of panels) {
      // A comma in a text without quotation marks would start another field.
      expect(Object.keys(panel).filter((key) => !/^(title|description|unit|queries)$/.test(key))).toEqual([]);
      for (const { expr, legend = '' } of panel.queries) {
        expect({ expr, mistakes: mistakesIn(ownExpr(expr), metrics, text) }).toEqual({ expr, mistakes: [] });
        const shown = [...legend.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label as string);
        expect(shown.filter((label) => !byOf(expr).has(label))).toEqual([]);
        expect(unbound(expr)).toEqual([]);
      }
    }
  });

  it('every alert has an example', () => {
    expect(examples.map(({ alert }) => alert).sort()).toEqual(rules.map(({ alert }) => alert).sort());
  });

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s uses existing metrics and labels, and has a description and a runbook',
    (alert, rule) => {
      expect(mistakesIn(ownExpr(rule.expr), metrics, text)).toEqual([]);
      expect(unbound(rule.expr)).toEqual([]);
      const labels = [...rule.annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(
        ([, label]) => label as string,
      );
      expect(labels.filter((label) => !byOf(rule.expr).has(label))).toEqual([]);
      expect(rule.annotations.summary.length).toBeGreaterThan(20);
      expect(rule.annotations.reason.length).toBeGreaterThan(40);
      const runbook = readFileSync(join(root, runbookFile(alert)), 'utf8');
      expect(runbook).toMatch(new RegExp(`^# ${alert}\n\n## Symptom\n.+\n## Check\n.+\n## Fix\n`, 's'));
      const index = readFileSync(join(root, 'docs/operations/runbooks/README.md'), 'utf8');
      expect(index).toContain(`[${alert}](${alert}.md)`);
    },
  );

  it('every alert runbook belongs to an alert', () => {
    const pages = manualFiles.filter((file) => /runbooks\/HeadsetCloud/.test(file));
    expect(pages).toEqual(rules.map(({ alert }) => runbookFile(alert)).sort());
  });
});

describeWith(['helm'], 'alerts and dashboard in the chart', () => {
  const of = (kind: string): Resource[] => resources(scenarios['production']).filter((r) => r.kind === kind);

  it('each alert links to its own runbook', () => {
    const [rule] = of('PrometheusRule');
    const links = rule?.['spec'].groups[0].rules.map(
      (r: { annotations: Record<string, string> }) => r.annotations['runbook_url'],
    );
    expect(links).toEqual(
      rules.map(({ alert }) => `https://docs.example.com/operations/runbooks/${alert}.md`),
    );
    expect(rule?.['spec'].groups[0].rules[0].annotations.summary).toContain(' in headset/trial fail');
  });

  it('each release has its own dashboard, in a separate file, with its own series', () => {
    const dashboards = [
      { release: 'blue', namespace: 'hc' },
      { release: 'green', namespace: 'hc' },
      { release: 'blue', namespace: 'other' },
    ].map((where) => {
      const maps = resources({ ...scenarios['production'], ...where }).filter((r) => r.kind === 'ConfigMap');
      const [[file, text]] = Object.entries<string>(maps[0]?.['data']) as [[string, string]];
      const { uid, title, panels } = JSON.parse(text);
      const exprs = panels.flatMap((panel: { targets: { expr: string }[] }) =>
        panel.targets.map((t) => t.expr),
      );
      for (const expr of exprs) {
        const metrics = [...expr.matchAll(/\b(?:headset|kube)_\w+\{([^}]*)\}/g)].map(
          ([, matchers]) => matchers,
        );
        expect(metrics.length).toBeGreaterThan(0);
        for (const matchers of metrics) {
          expect(matchers).toContain(`namespace="${where.namespace}"`);
          expect(matchers).toMatch(new RegExp(`release="${where.release}"|pod=~"${where.release}-`));
        }
      }
      expect(uid.length).toBeLessThanOrEqual(40);
      return { file, uid, title };
    });
    for (const field of ['file', 'uid', 'title'] as const) {
      expect(new Set(dashboards.map((dashboard) => dashboard[field])).size).toBe(dashboards.length);
    }
  });

  it('a ServiceMonitor labels the series of its release', () => {
    const [monitor] = of('ServiceMonitor');
    expect(monitor?.['spec'].endpoints[0].relabelings).toEqual([
      { targetLabel: 'release', replacement: 'trial' },
    ]);
  });

  it('the dashboard is JSON with every panel', () => {
    const [map] = of('ConfigMap');
    const [file] = Object.values<string>(map?.['data'] ?? {});
    const dashboard = JSON.parse(file ?? '');
    expect(dashboard.panels).toHaveLength(chartYaml('files/dashboard.yaml').panels.length);
    expect(dashboard.panels[0].targets[0]).toMatchObject({ refId: 'A', legendFormat: '{{route}}' });
  });
});
