import type { Fault } from '@headset-cloud/demo/headset/behaviour.ts';
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

const by = (rule: string, ...faults: Fault[]): Sabotage => ({
  rule,
  name: faults.join(', '),
  defect: { behaviour: { faults } },
});

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
  by('session/last-report-id', 'tells-older-counter'),
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
  by('session/unnumbered', 'counts-unnumbered'),

  { rule: 'offers/ready-when-unknown', name: 'never ready', defect: { options: '--ready never' } },
  by('offers/ready-when-offered', 'no-ready-on-repeat'),
  by('offers/ready-when-started', 'no-ready-on-repeat'),
  by('offers/ready-when-finished', 'no-ready-on-repeat'),
  by('offers/ready-when-remembered', 'no-ready-on-repeat'),
  by('offers/no-start-no-effect', 'starts-without-start'),
  by('offers/start-of-unknown', 'answers-unknown-start'),
  by('offers/order', 'newest-first'),
  { rule: 'offers/start-repeated', name: 'two results', defect: { options: '--result twice' } },
  by('offers/start-repeated', 'start-repeats-work'),
  by('offers/only-loads-overtaken', 'overtakes-commands'),
  by('offers/start-of-remembered', 'silent-when-done'),
  by('offers/start-of-remembered', 'dates-again'),
  by('offers/held', 'hides-held'),
  by('offers/start-without-offer', 'start-needs-offer'),
  by('offers/interrupted-waits', 'resumes-by-itself'),

  by('once/killed-before-start', 'no-ready-on-repeat'),
  by('once/killed-at-start', 'repeats-interrupted'),
  by('once/killed-at-effect', 'repeats-interrupted'),
  by('once/killed-at-result', 'repeats-interrupted'),
  by('once/interrupted-call', 'interrupted-succeeds'),
  by('once/interrupted-call', 'repeats-interrupted'),
  by('once/remembered', 'forgets-ids'),

  by('drop/offered', 'starts-dropped'),
  by('drop/again', 'ignores-drop'),
  by('drop/started', 'ignores-drop'),
  by('drop/interrupted', 'starts-dropped'),
  by('drop/finished', 'drops-finished'),

  by('revoke/offered', 'ignores-revoke'),
  by('revoke/started', 'acts-after-revoke'),
  by('revoke/queued', 'acts-after-revoke'),
  by('revoke/interrupted', 'starts-revoked'),
  { rule: 'revoke/durable', name: 'no journal', defect: { before: files('journal') } },
  by('revoke/ignores-start', 'silent-when-done'),
  by('revoke/offered-again', 'starts-revoked'),
  by('revoke/finished', 'revokes-finished'),
  by('revoke/remembered', 'silent-when-done'),
  by('revoke/unknown', 'silent-on-unknown-revoke'),
  by('revoke/crossing', 'revokes-finished'),

  by('reports/rising', 'reports-out-of-order'),
  by('reports/again', 'no-report-repeat'),
  by('reports/again', 'new-report-ids-on-repeat'),
  by('reports/same-id', 'restarts-counter'),
  by('reports/older-counter', 'keeps-older-counter'),
  {
    rule: 'reports/empty-store',
    name: 'a counter that begins at 1',
    defect: { behaviour: { firstReportId: 1 } },
  },
  by('reports/numbers-after-welcome', 'numbers-at-once'),
  by('reports/size', 'stores-whole-texts'),
  by('reports/acknowledged', 'repeats-acknowledged'),
  by('reports/acked-in-welcome', 'ignores-acked-in-welcome'),
  by('reports/after-welcome', 'reports-before-welcome'),
  by('reports/window', 'exceeds-window'),
  by('reports/kept-while-offline', 'no-report-repeat'),
  by('reports/epoch', 'rewrites-epoch'),
  by('reports/taken-epoch', 'tells-offered-epoch'),

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
  by('activations/old-load', 'finishes-old-load'),

  by('operations/unknown', 'succeeds-unknown'),
  by('operations/extras', 'extras-as-doubles'),
  by('operations/unfit-extras', 'extras-as-doubles'),
  by('operations/unfit-extras', 'checks-whole-extras'),
  by('operations/languages', 'no-inventory'),
  by('operations/uninstall', 'keeps-uninstalled'),
  by('operations/uninstall', 'no-inventory'),
  by('operations/uninstall', 'uninstalls-anything'),
  {
    rule: 'operations/pairing',
    name: 'no reports of connections',
    defect: { behaviour: { connectionNotices: false } },
  },
  by('operations/reset', 'tells-reset-at-once'),
  by('operations/launch-type', 'runs-unknown-launch-type'),
  by('operations/app-answer', 'no-report-repeat'),
  by('operations/one-answer', 'answers-twice'),
  by('operations/unknown-network', 'lists-anything'),
  by('operations/reset-ends-uploads', 'resets-keep-uploads'),
  {
    rule: 'operations/connectivity',
    name: 'results without connectivity',
    defect: { behaviour: { withoutConnectivity: true } },
  },
  {
    rule: 'operations/reset',
    name: 'the result of a reset is lost',
    defect: { behaviour: { loseResetResult: true } },
  },

  by('updates/installs', 'no-inventory'),
  by('updates/installs', 'authorizes-downloads'),
  by('updates/resumed-after-cut', 'loads-again'),
  {
    rule: 'updates/resumed-after-kill',
    name: 'no parts after a restart',
    defect: { before: 'rm -f "$HEADSET_DATA"/*.part' },
  },
  by('updates/range-ignored', 'appends-whole'),
  by('updates/range-refused', 'keeps-part'),
  by('updates/ranges-refused', 'forgives-ranges'),
  by('updates/redirects-bounded', 'follows-endlessly'),
  by('updates/newest-ticket', 'keeps-first-ticket'),
  by('updates/same-package-waits', 'works-in-parallel'),
  by('updates/same-version', 'trusts-version'),
  by('updates/redirected', 'follows-no-redirect'),
  by('updates/wrong-hash', 'ignores-wrong-hash'),
  by('updates/address-used-up', 'keeps-refused-address'),
  by('updates/server-trouble', 'fresh-address-each-time'),
  by('updates/waits-doubled', 'waits-alike'),
  by('updates/too-many-requests', 'refused-by-429'),
  by('updates/addresses-refused', 'asks-for-ever'),
  by('updates/addresses-refused', 'trouble-breaks-row'),
  by('updates/refused-row', 'counts-all-refusals'),
  by('updates/expired-address', 'uses-expired-address'),
  by('updates/expired-address', 'expires-by-own-clock'),
  by('updates/artifact-gone', 'asks-for-ever'),
  by('updates/progress', 'progress-after-result'),
  by('updates/load-survives-cut', 'start-repeats-work'),
  by('updates/no-older-firmware', 'downgrades-firmware'),
  by('updates/no-older-firmware', 'loads-older-firmware'),
  by('updates/no-older-firmware', 'refuses-equal-firmware'),

  by('addresses/ids', 'same-request-id'),
  by('addresses/unavailable', 'asks-at-once'),
  by('addresses/asked-again', 'asks-once'),
  by('addresses/asked-again-in-session', 'never-asks-again'),
  by('addresses/eight-open', 'asks-all-at-once'),
  by('uploads/one-put', 'puts-content-type'),
  by('uploads/put-failed', 'puts-again'),
  {
    rule: 'uploads/silent-storage',
    name: 'a PUT without an end',
    defect: { behaviour: { putIdleMs: 0 } },
  },
  by('uploads/one-path', 'asks-all-at-once'),
  by('uploads/aborted', 'finishes-put'),
  by('uploads/redirected', 'follows-put-redirect'),
  by('uploads/unknown-refusal', 'repeats-unknown-refusal'),
  by('uploads/refused', 'no-upload-report'),
  { rule: 'uploads/kept', name: 'no journal', defect: { before: files('journal') } },
];
