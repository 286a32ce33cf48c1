import type { FaultName } from './faults/all.ts';
import type { Defect } from './simulator.ts';

/** A simulated headset that violates a rule, and the rule's id. */
export interface FaultyHeadset {
  readonly rule: string;
  /** Short description of the defect. */
  readonly name: string;
  readonly defect: Defect;
}

/** Ids of the rules that detect each fault. */
const foundBy: Readonly<Record<FaultName, string>> = {
  'no-backoff': 'session/back-off',
  'welcome-resets-backoff': 'session/back-off-after-welcome',
  'ignores-retry-after': 'session/retry-after-go-away session/retry-after-trailer activations/told-first',
  'reuses-token': 'session/token',
  'uncorrected-clock': 'session/clock-from-trailer session/clock-in-reports session/clock-under-way',
  'ignores-delay': 'session/clock-under-way',
  'corrects-hello-clock': 'session/hello-clock',
  'waits-for-welcome-forever': 'session/welcome-awaited',
  'reports-before-welcome': 'reports/after-welcome',
  'no-pings': 'session/silent-cloud',
  'pings-rarely': 'session/silent-cloud',
  'ends-on-unknown': 'session/unknown-ignored',
  'uses-old-stream': 'session/one-stream',
  'hides-held': 'offers/held operations/reset',
  'says-interrupted-is-finished': 'updates/same-version',
  'older-counter-in-hello': 'session/last-report-id',
  'counter-beside-unnumbered': 'session/unnumbered',
  'no-ready': 'offers/ready-when-unknown',
  'no-ready-on-repeat':
    'offers/ready-when-offered offers/ready-when-started offers/ready-when-finished offers/ready-when-remembered once/killed-before-start',
  'starts-without-start': 'offers/no-start-no-effect',
  'resumes-by-itself': 'offers/interrupted-waits',
  'start-needs-offer': 'offers/start-without-offer',
  'answers-unknown-start': 'offers/start-of-unknown',
  'newest-first': 'offers/order',
  overtakes: 'offers/only-loads-overtaken updates/same-package-waits',
  'reports-twice': 'offers/start-repeated',
  'silent-when-done': 'offers/start-of-remembered revoke/ignores-start revoke/remembered',
  'dates-again': 'offers/start-of-remembered',
  'forgets-its-ends':
    'once/killed-at-start once/killed-at-effect once/killed-at-result once/interrupted-call once/remembered reports/same-id',
  'ignores-drop': 'drop/again drop/started',
  'starts-dropped': 'drop/offered drop/interrupted',
  'drops-finished': 'drop/finished',
  'ignores-revoke': 'revoke/offered',
  'acts-after-revoke': 'revoke/started revoke/queued revoke/interrupted revoke/offered-again',
  'revokes-finished': 'revoke/finished revoke/crossing',
  'silent-on-unknown-revoke': 'revoke/unknown',
  'never-fails': 'once/interrupted-call operations/unknown operations/unknown-network',
  'runs-unknown-launch-type': 'operations/launch-type',
  'ignores-extra-types': 'operations/extras operations/unfit-extras',
  'checks-whole-extras': 'operations/unfit-extras',
  'answers-twice': 'operations/one-answer',
  'uninstalls-anything': 'operations/uninstall',
  'no-connectivity': 'operations/connectivity',
  'no-connection-reports': 'operations/pairing',
  'reports-reset-at-once': 'operations/reset',
  'takes-reset-as-done': 'activations/same-reset',
  'downgrades-firmware': 'updates/no-older-firmware',
  'refuses-equal-firmware': 'updates/no-older-firmware',
  'takes-sent-as-acknowledged':
    'reports/again reports/window reports/kept-while-offline operations/app-answer',
  'new-report-ids-on-repeat': 'reports/again',
  'repeats-acknowledged': 'reports/acknowledged',
  'ignores-acked-in-welcome': 'reports/older-counter reports/numbers-after-welcome reports/acked-in-welcome',
  'reports-out-of-order': 'reports/rising',
  'counts-from-one': 'reports/empty-store',
  'rewrites-epoch': 'reports/epoch',
  'uses-offered-epoch': 'reports/taken-epoch',
  'stores-whole-texts': 'reports/size',
  'no-inventory': 'activations/deactivated operations/languages operations/uninstall updates/installs',
  'progress-after-result': 'updates/progress',
  'no-upload-report': 'operations/reset-ends-uploads uploads/refused',
  'reports-unknown-refusal': 'uploads/unknown-refusal',
  'ignores-welcome-activation': 'activations/told-first activations/welcome',
  'takes-old-activation': 'activations/absent',
  'learns-no-epoch': 'activations/old-load',
  'acts-on-old-epoch': 'activations/earlier-epoch',
  'activation-not-erased': 'activations/erased activations/deactivated',
  'erases-after-break': 'activations/same-again',
  'no-snapshot': 'activations/welcome-snapshot activations/snapshot-once',
  'unmarked-snapshot': 'activations/activate',
  'snapshot-first': 'activations/uploads-first',
  'snapshots-again': 'activations/same-change',
  'authorizes-downloads': 'updates/installs',
  'loads-from-the-beginning': 'updates/resumed-after-cut',
  'keeps-nothing-of-a-cut-load': 'updates/waits-doubled updates/refused-row',
  'appends-whole': 'updates/range-ignored',
  'follows-endlessly': 'updates/redirects-bounded',
  'follows-no-redirect': 'updates/redirected',
  'refused-range-as-trouble': 'updates/range-refused updates/ranges-refused',
  'refused-address-as-trouble': 'updates/address-used-up',
  'trouble-as-refused-address': 'updates/server-trouble',
  'too-many-requests-as-refused-address': 'updates/too-many-requests',
  'trouble-as-a-byte': 'updates/addresses-refused',
  'ignores-wrong-hash': 'updates/wrong-hash',
  'cut-stops-loads': 'updates/load-survives-cut',
  'keeps-first-ticket': 'updates/newest-ticket',
  'uses-expired-address': 'updates/expired-address',
  'asks-for-ever': 'updates/artifact-gone',
  'same-request-id': 'addresses/ids',
  'asks-at-once': 'addresses/unavailable',
  'asks-once': 'addresses/asked-again addresses/asked-again-in-session',
  'asks-all-at-once': 'addresses/eight-open uploads/one-path',
  'puts-content-type': 'uploads/one-put',
  'follows-put-redirect': 'uploads/redirected',
  'puts-again': 'uploads/put-failed',
  'waits-for-storage-forever': 'uploads/silent-storage',
  'finishes-put': 'uploads/aborted',
};

const noJournal = 'rm -f "$HEADSET_DATA"/*.journal.jsonl';

/**
 * Shell command that kills a suspended client, like a system that runs out of memory. It runs in its own session, so
 * that it is not suspended with the client's group, and ends after the client.
 */
const endsSuspended = `setsid sh -c 'while sleep 0.2 && read -r stat < /proc/$1/stat; do case $stat in *") T "*) kill -9 $1 ;; *") Z "*) break ;; esac; done' - $1`;

/** All faulty headsets, at least one per rule. */
export const faultyHeadsets: readonly FaultyHeadset[] = [
  { rule: 'session/token', name: 'another audience', defect: { options: '--audience another' } },
  {
    rule: 'session/hello',
    name: 'no languages',
    defect: {
      before: `printf '{"languages":[]}' > "$HEADSET_DATA/content.json"`,
      options: '--content "$HEADSET_DATA/content.json"',
    },
  },
  {
    rule: 'session/sleep',
    name: 'the system kills it while it is suspended',
    defect: { beside: endsSuspended },
  },
  {
    rule: 'session/pings-answered',
    name: 'stops responding after its first effect',
    defect: { beside: 'until [ -s "$HEADSET_EFFECTS" ]; do sleep 0.05; done; kill -STOP $1' },
  },
  { rule: 'revoke/durable', name: 'no journal', defect: { before: noJournal } },
  { rule: 'activations/epoch-kept', name: 'no journal', defect: { before: noJournal } },
  {
    rule: 'updates/resumed-after-kill',
    name: 'no parts after a restart',
    defect: { before: 'rm -f "$HEADSET_DATA"/*.part' },
  },
  { rule: 'uploads/kept', name: 'no journal', defect: { before: noJournal } },
  ...(Object.entries(foundBy) as [FaultName, string][]).flatMap(([fault, rules]) =>
    rules.split(' ').map((rule) => ({ rule, name: fault, defect: { fault } })),
  ),
];
