import { LineFile } from '@headset-cloud/demo/headset/line-file.ts';
import { ExtraType, type Offer } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import {
  type Fault,
  heldAs,
  isRemembered,
  operationOf,
  receives,
  reportEnd,
  reports,
  sends,
  type Tap,
} from './fault.ts';

/** Starts are collected for this long and passed to the headset in reverse order; milliseconds. */
const orderedWithinMs = 300;

/** A file that loses the ends and effects of transactions at each start. */
class ForgetfulFile extends LineFile {
  override read(): unknown[] {
    if (this.path.endsWith('.effects.jsonl')) return [];
    return super.read().filter((entry) => (entry as { k?: string }).k !== 'done');
  }
}

const ofCommand = (
  change: (command: { launchType: number; extraTypes: Record<string, ExtraType> }) => void,
) =>
  receives('offer', ({ operation }) => {
    if (operation?.kind.case === 'command') change(operation.kind.value);
  });

/** Records an effect and reports its result without the headset's own work. */
function doAtOnce(at: Tap, id: bigint): void {
  at.headset.effects.apply({ transactionId: Number(id), operation: 'at once' });
  reportEnd(at, id, true);
}

const reportRevoked = ({ headset }: Tap, transactionId: bigint) =>
  headset.report({ case: 'revoked', value: { transactionId } });

/** Faults of transactions and operations, from offer to result. */
export const transactionFaults = {
  'no-ready': sends('ready', () => false),
  'no-ready-on-repeat': () => {
    const known = new Set<bigint>();
    return {
      ...receives('offer', ({ transactionId: id }, at) => {
        if (heldAs(at, id) || isRemembered(at, id)) known.add(id);
      }),
      ...sends('ready', ({ transactionId }) => !known.has(transactionId)),
    };
  },
  'starts-without-start': receives('offer', ({ transactionId }, { receive }) =>
    receive({ case: 'start', value: { transactionId } }),
  ),
  'resumes-by-itself': receives('welcome', (_, { headset, receive }) => {
    for (const [id, { state }] of headset.journal.held) {
      if (state === 'started') receive({ case: 'start', value: { transactionId: BigInt(id) } });
    }
  }),
  'start-needs-offer': () => {
    const offered = new Set<bigint>();
    return {
      in: (body, at) => {
        if (body.case === 'offer') offered.add(body.value.transactionId);
        const id = body.case === 'start' ? body.value.transactionId : 0n;
        return offered.has(id) || heldAs(at, id) !== 'started';
      },
      ...sends('hello', () => offered.clear()),
    };
  },
  'answers-unknown-start': receives('start', ({ transactionId: id }, at) => {
    if (!heldAs(at, id) && !isRemembered(at, id)) reportEnd(at, id, false);
  }),
  'newest-first': () => {
    const waiting: bigint[] = [];
    return receives('start', ({ transactionId }, { receive }) => {
      waiting.unshift(transactionId);
      if (waiting.length > 1) return false;
      setTimeout(() => {
        for (const id of waiting.splice(0)) receive({ case: 'start', value: { transactionId: id } });
      }, orderedWithinMs);
      return false;
    });
  },
  /** Performs all operations except updates and commands at once instead of in order. */
  overtakes: receives('start', ({ transactionId: id }, at) => {
    const kind = operationOf(at, id).case;
    if (kind !== 'applyLanguages' && kind !== 'uninstall') return true;
    doAtOnce(at, id);
    return false;
  }),
  'reports-twice': () => {
    const done = new Set<bigint>();
    return reports('result', (value, { headset }) => {
      if (done.has(value.transactionId)) return;
      done.add(value.transactionId);
      setImmediate(() => headset.report({ case: 'result', value }));
    });
  },
  'silent-when-done': {
    in: (body, at) =>
      (body.case !== 'start' && body.case !== 'revoke') || !isRemembered(at, body.value.transactionId),
  },
  'dates-again': () => {
    const firstReports = new Map<bigint, bigint>();
    return reports('result', ({ transactionId: id }, _, report) => {
      if (!firstReports.has(id)) firstReports.set(id, report.reportId);
      else if (firstReports.get(id) !== report.reportId) report.occurredAtMs = BigInt(Date.now());
    });
  },
  'forgets-its-ends': {
    options: ({ stateDir = '.' }) => ({
      openFile: (name) => new ForgetfulFile(`${stateDir}/${name}`, 'process'),
    }),
  },
  'ignores-drop': receives('drop', () => false),
  'starts-dropped': () => {
    const dropped = new Map<bigint, Offer>();
    return {
      in: (body, { headset, receive }) => {
        if (body.case !== 'drop' && body.case !== 'start') return true;
        const { transactionId: id } = body.value;
        const held = headset.journal.held.get(Number(id));
        if (body.case === 'drop' && held) dropped.set(id, held.offer);
        const offer = body.case === 'start' && dropped.get(id);
        if (!offer) return true;
        dropped.delete(id);
        receive({ case: 'offer', value: offer });
        receive({ case: 'start', value: { transactionId: id } });
        return false;
      },
    };
  },
  'drops-finished': receives('drop', ({ transactionId: id }, at) => {
    if (heldAs(at, id) === 'finished') at.headset.journal.dropped(Number(id));
  }),
  'ignores-revoke': receives('revoke', () => false),
  /** Answers `revoked`, but performs the work anyway, perhaps at a later start. */
  'acts-after-revoke': receives('revoke', ({ transactionId }, at) => {
    reportRevoked(at, transactionId);
    return false;
  }),
  'revokes-finished': receives('revoke', ({ transactionId: id }, at) => {
    if (heldAs(at, id) === 'finished') reportRevoked(at, id);
  }),
  'silent-on-unknown-revoke': receives(
    'revoke',
    ({ transactionId: id }, at) => heldAs(at, id) !== undefined || isRemembered(at, id),
  ),
  /** Also reports a success for unknown operations, interrupted calls and unknown network types. */
  'never-fails': reports('result', (result) => {
    result.success = true;
    if (result.connectivity) result.connectivity.statusCode = 200;
  }),
  'runs-unknown-launch-type': ofCommand((command) => {
    command.launchType = 1;
  }),
  /** Reads all numbers as doubles. */
  'ignores-extra-types': ofCommand((command) => {
    command.extraTypes = {};
  }),
  'checks-whole-extras': ofCommand(({ extraTypes }) => {
    for (const [name, type] of Object.entries(extraTypes)) {
      if (type !== ExtraType.INTEGER && type !== ExtraType.LONG) delete extraTypes[name];
    }
  }),
  'answers-twice': reports('appAnswer', ({ transactionId }, { headset: { journal } }) => {
    setImmediate(() => {
      const outcome = journal.outcomes.get(Number(transactionId));
      if (!outcome) return;
      const { answered: _, ...unanswered } = outcome;
      journal.outcomes.set(Number(transactionId), unanswered);
    });
  }),
  'uninstalls-anything': receives('start', ({ transactionId: id }, at) => {
    const kind = operationOf(at, id);
    const { apps } = at.headset.device.state;
    if (kind.case !== 'uninstall' || apps.some((app) => app.package === kind.value.package)) return;
    at.headset.changeContent({ apps: [...apps, { package: kind.value.package, version: '1' }] });
  }),
  'no-connectivity': reports('result', (result) => {
    delete result.connectivity;
  }),
  'no-connection-reports': reports('bluetoothConnection', () => false),
  'reports-reset-at-once': receives('start', ({ transactionId: id }, at) => {
    if (operationOf(at, id).case !== 'reset' || heldAs(at, id) !== 'offered') return true;
    reportEnd(at, id, true);
    at.headset.journal.started(Number(id));
    setTimeout(() => at.receive({ case: 'start', value: { transactionId: id } }), orderedWithinMs);
    return false;
  }),
  /** Treats a reset that the welcome has announced as done. */
  'takes-reset-as-done': () => {
    let revision = 0n;
    return {
      in: (body, at) => {
        if (body.case === 'welcome') revision = body.value.activation?.revision ?? 0n;
        if (body.case !== 'start' || body.value.transactionId !== revision) return true;
        if (operationOf(at, revision).case !== 'reset') return true;
        reportEnd(at, revision, true);
        return false;
      },
    };
  },
  'downgrades-firmware': receives('start', ({ transactionId: id }, at) => {
    if (operationOf(at, id).case === 'updateFirmware') at.headset.changeContent({ firmwareVersion: '0' });
  }),
  'refuses-equal-firmware': receives('start', ({ transactionId: id }, at) => {
    const kind = operationOf(at, id);
    if (kind.case !== 'updateFirmware') return true;
    if (kind.value.version !== at.headset.device.state.firmwareVersion) return true;
    reportEnd(at, id, false);
    return false;
  }),
} satisfies Record<string, Fault | (() => Fault)>;
