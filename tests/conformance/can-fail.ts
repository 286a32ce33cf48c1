import type { FaultName } from './faults/all.ts';
import type { Defect } from './simulator.ts';

/** A simulated headset that breaks a rule, and the rule's id. */
export interface Sabotage {
  readonly rule: string;
  /** The defect of the headset, in a few words. */
  readonly name: string;
  readonly defect: Defect;
}

const files = (names: string) =>
  names
    .split(' ')
    .map((name) => `rm -f "$HEADSET_DATA"/*.${name}.jsonl`)
    .join('; ');

/**
 * Ends a suspended client, as a system does that needs its memory. It has a session of its own, so that it is
 * not suspended with the client's group, and ends when the client is gone.
 */
const endsSuspended = `setsid sh -c 'while sleep 0.2 && read -r stat < /proc/$1/stat; do case $stat in *") T "*) kill -9 $1 ;; *") Z "*) break ;; esac; done' - $1`;

const by = (rule: string, fault: FaultName): Sabotage => ({ rule, name: fault, defect: { fault } });

/** Every rule at least once. */
export const sabotages: readonly Sabotage[] = [
  { rule: 'session/token', name: 'another audience', defect: { options: '--audience another' } },
  by('session/token', 'reuses-token'),
  {
    rule: 'session/hello',
    name: 'no languages',
    defect: {
      before: `printf '{"languages":[]}' > "$HEADSET_DATA/content.json"`,
      options: '--content "$HEADSET_DATA/content.json"',
    },
  },
  by('session/last-report-id', 'older-counter-in-hello'),
  by('session/clock-from-trailer', 'uncorrected-clock'),
  by('session/hello-clock', 'corrects-hello-clock'),
  by('session/clock-in-reports', 'uncorrected-clock'),
  by('session/back-off', 'no-backoff'),
  by('session/back-off-after-welcome', 'welcome-resets-backoff'),
  by('session/retry-after-go-away', 'ignores-retry-after'),
  by('session/retry-after-trailer', 'ignores-retry-after'),
  by('activations/told-first', 'ignores-retry-after'),
  by('activations/told-first', 'ignores-welcome-activation'),
  by('session/welcome-awaited', 'waits-for-welcome-forever'),
  by('session/silent-cloud', 'no-pings'),
  by('session/silent-cloud', 'pings-rarely'),
  {
    rule: 'session/sleep',
    name: 'the system ends it while it is suspended',
    defect: { beside: endsSuspended },
  },
  {
    rule: 'session/pings-answered',
    name: 'stops responding after its first effect',
    defect: { beside: 'until [ -s "$HEADSET_EFFECTS" ]; do sleep 0.05; done; kill -STOP $1' },
  },
  by('session/unknown-ignored', 'ends-on-unknown'),
  by('session/one-stream', 'uses-old-stream'),
  by('session/clock-under-way', 'ignores-delay'),
  by('session/clock-under-way', 'uncorrected-clock'),
  by('session/unnumbered', 'counter-beside-unnumbered'),

  by('offers/ready-when-unknown', 'no-ready'),
  by('offers/ready-when-offered', 'no-ready-on-repeat'),
  by('offers/ready-when-started', 'no-ready-on-repeat'),
  by('offers/ready-when-finished', 'no-ready-on-repeat'),
  by('offers/ready-when-remembered', 'no-ready-on-repeat'),
  by('offers/no-start-no-effect', 'starts-without-start'),
  by('offers/start-of-unknown', 'answers-unknown-start'),
  by('offers/order', 'newest-first'),
  by('offers/start-repeated', 'reports-twice'),
  by('offers/only-loads-overtaken', 'overtakes'),
  by('offers/start-of-remembered', 'silent-when-done'),
  by('offers/start-of-remembered', 'dates-again'),
  by('offers/held', 'hides-held'),
  by('offers/start-without-offer', 'start-needs-offer'),
  by('offers/interrupted-waits', 'resumes-by-itself'),

  by('once/killed-before-start', 'no-ready-on-repeat'),
  by('once/killed-at-start', 'forgets-its-ends'),
  by('once/killed-at-effect', 'forgets-its-ends'),
  by('once/killed-at-result', 'forgets-its-ends'),
  by('once/interrupted-call', 'never-fails'),
  by('once/interrupted-call', 'forgets-its-ends'),
  by('once/remembered', 'forgets-its-ends'),

  by('drop/offered', 'starts-dropped'),
  by('drop/again', 'ignores-drop'),
  by('drop/started', 'ignores-drop'),
  by('drop/interrupted', 'starts-dropped'),
  by('drop/finished', 'drops-finished'),

  by('revoke/offered', 'ignores-revoke'),
  by('revoke/started', 'acts-after-revoke'),
  by('revoke/queued', 'acts-after-revoke'),
  by('revoke/interrupted', 'acts-after-revoke'),
  { rule: 'revoke/durable', name: 'no journal', defect: { before: files('journal') } },
  by('revoke/ignores-start', 'silent-when-done'),
  by('revoke/offered-again', 'acts-after-revoke'),
  by('revoke/finished', 'revokes-finished'),
  by('revoke/remembered', 'silent-when-done'),
  by('revoke/unknown', 'silent-on-unknown-revoke'),
  by('revoke/crossing', 'revokes-finished'),

  by('reports/rising', 'reports-out-of-order'),
  by('reports/again', 'takes-sent-as-acknowledged'),
  by('reports/again', 'new-report-ids-on-repeat'),
  by('reports/same-id', 'forgets-its-ends'),
  by('reports/older-counter', 'ignores-acked-in-welcome'),
  by('reports/empty-store', 'counts-from-one'),
  by('reports/numbers-after-welcome', 'ignores-acked-in-welcome'),
  by('reports/size', 'stores-whole-texts'),
  by('reports/acknowledged', 'repeats-acknowledged'),
  by('reports/acked-in-welcome', 'ignores-acked-in-welcome'),
  by('reports/after-welcome', 'reports-before-welcome'),
  by('reports/window', 'takes-sent-as-acknowledged'),
  by('reports/kept-while-offline', 'takes-sent-as-acknowledged'),
  by('reports/epoch', 'rewrites-epoch'),
  by('reports/taken-epoch', 'uses-offered-epoch'),

  by('activations/earlier-epoch', 'acts-on-old-epoch'),
  { rule: 'activations/epoch-kept', name: 'no journal', defect: { before: files('journal') } },
  by('activations/activate', 'unmarked-snapshot'),
  by('activations/welcome', 'ignores-welcome-activation'),
  by('activations/welcome-snapshot', 'no-snapshot'),
  by('activations/snapshot-once', 'no-snapshot'),
  by('activations/absent', 'takes-old-activation'),
  by('activations/same-change', 'snapshots-again'),
  by('activations/same-again', 'erases-after-break'),
  by('activations/erased', 'activation-not-erased'),
  by('activations/deactivated', 'no-inventory'),
  by('activations/deactivated', 'activation-not-erased'),
  by('activations/uploads-first', 'snapshot-first'),
  by('activations/same-reset', 'takes-reset-as-done'),
  by('activations/old-load', 'learns-no-epoch'),

  by('operations/unknown', 'never-fails'),
  by('operations/extras', 'ignores-extra-types'),
  by('operations/unfit-extras', 'ignores-extra-types'),
  by('operations/unfit-extras', 'checks-whole-extras'),
  by('operations/languages', 'no-inventory'),
  by('operations/uninstall', 'no-inventory'),
  by('operations/uninstall', 'uninstalls-anything'),
  by('operations/pairing', 'no-connection-reports'),
  by('operations/reset', 'reports-reset-at-once'),
  by('operations/launch-type', 'runs-unknown-launch-type'),
  by('operations/app-answer', 'takes-sent-as-acknowledged'),
  by('operations/one-answer', 'answers-twice'),
  by('operations/unknown-network', 'never-fails'),
  by('operations/reset-ends-uploads', 'no-upload-report'),
  by('operations/connectivity', 'no-connectivity'),
  by('operations/reset', 'hides-held'),

  by('updates/installs', 'no-inventory'),
  by('updates/installs', 'authorizes-downloads'),
  by('updates/resumed-after-cut', 'loads-from-the-beginning'),
  {
    rule: 'updates/resumed-after-kill',
    name: 'no parts after a restart',
    defect: { before: 'rm -f "$HEADSET_DATA"/*.part' },
  },
  by('updates/range-ignored', 'appends-whole'),
  by('updates/range-refused', 'refused-range-as-trouble'),
  by('updates/ranges-refused', 'refused-range-as-trouble'),
  by('updates/redirects-bounded', 'follows-endlessly'),
  by('updates/newest-ticket', 'keeps-first-ticket'),
  by('updates/same-package-waits', 'overtakes'),
  by('updates/same-version', 'says-interrupted-is-finished'),
  by('updates/redirected', 'follows-no-redirect'),
  by('updates/wrong-hash', 'ignores-wrong-hash'),
  by('updates/address-used-up', 'refused-address-as-trouble'),
  by('updates/server-trouble', 'trouble-as-refused-address'),
  by('updates/waits-doubled', 'keeps-nothing-of-a-cut-load'),
  by('updates/too-many-requests', 'too-many-requests-as-refused-address'),
  by('updates/addresses-refused', 'trouble-as-a-byte'),
  by('updates/refused-row', 'keeps-nothing-of-a-cut-load'),
  by('updates/expired-address', 'uses-expired-address'),
  by('updates/artifact-gone', 'asks-for-ever'),
  by('updates/progress', 'progress-after-result'),
  by('updates/load-survives-cut', 'cut-stops-loads'),
  by('updates/no-older-firmware', 'downgrades-firmware'),
  by('updates/no-older-firmware', 'refuses-equal-firmware'),

  by('addresses/ids', 'same-request-id'),
  by('addresses/unavailable', 'asks-at-once'),
  by('addresses/asked-again', 'asks-once'),
  by('addresses/asked-again-in-session', 'asks-once'),
  by('addresses/eight-open', 'asks-all-at-once'),
  by('uploads/one-put', 'puts-content-type'),
  by('uploads/put-failed', 'puts-again'),
  by('uploads/silent-storage', 'waits-for-storage-forever'),
  by('uploads/one-path', 'asks-all-at-once'),
  by('uploads/aborted', 'finishes-put'),
  by('uploads/redirected', 'follows-put-redirect'),
  by('uploads/unknown-refusal', 'reports-unknown-refusal'),
  by('uploads/refused', 'no-upload-report'),
  { rule: 'uploads/kept', name: 'no journal', defect: { before: files('journal') } },
];
