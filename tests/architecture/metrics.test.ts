import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, sources } from './imports.ts';

/** Gauges of one process; the sum over its instances is right, or means nothing. */
const ofOneProcess = [
  'headset_audit_store_failing',
  'headset_build_info',
  'headset_gateway_calls_in_progress_limit',
  'headset_gateway_issuer_keys_age_seconds',
  'headset_link_certificate_expiry_timestamp_seconds',
  'headset_queued_report_bytes',
  'headset_ready',
  'headset_rpc_certificate_expiry_timestamp_seconds',
  'headset_sessions',
  'headset_updates_checks_running',
  'headset_updates_checks_waiting',
  'headset_updates_storage_unavailable',
  'headset_warnings',
];
/** End of the help text of a gauge that each replica reads from the shared database or log. */
const mark = ' Whole platform: use max, not sum.';

interface Gauge {
  readonly name: string;
  readonly help: string;
}

function gaugesOf(text: string): Gauge[] {
  const written = text.matchAll(/new Gauge\(\{\s*name: '([^']+)',\s*help: (?:'([^']+)'|"([^"]+)")/g);
  return [...written].map(([, name = '', single, double]) => ({ name, help: single ?? double ?? '' }));
}

const texts = ['services', 'gateway']
  .flatMap(sources)
  .filter((file) => !file.endsWith('.test.ts') && !file.includes('/testing/'))
  .map((file) => readFileSync(join(root, file), 'utf8'));
const gauges = texts.flatMap(gaugesOf);

test('the help text of each gauge with one value for all replicas says so, and no other help text does', () => {
  const made = texts.reduce((sum, text) => sum + text.split('new Gauge(').length - 1, 0);
  expect(gauges).toHaveLength(made);
  const unmarked = gauges.filter(({ help }) => !help.endsWith(mark)).map(({ name }) => name);
  expect(unmarked.sort()).toEqual(ofOneProcess);
});

test('a gauge without the mark is found', () => {
  expect(gaugesOf("new Gauge({\n  name: 'headset_x',\n  help: \"A's count.\",")).toEqual([
    { name: 'headset_x', help: "A's count." },
  ]);
});
