import type { Report, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import { type Fault, receives, reports, sends } from './fault.ts';

/** Collects reports of the same tick and sends them in the order that `arrange` returns. */
const together = (arrange: (reports: Report[]) => Report[]) => () => {
  const batch: Report[] = [];
  return sends('report', (report, { send }) => {
    batch.push(report);
    if (batch.length > 1) return false;
    setImmediate(() => {
      for (const value of arrange(batch.splice(0))) send({ case: 'report', value });
    });
    return false;
  });
};

/** Faults of reports and activations. */
export const reportFaults = {
  /** Never repeats a report, and sends more than 256 reports without an acknowledgement. */
  'takes-sent-as-acknowledged': sends('report', ({ reportId }, { receive }) =>
    receive({ case: 'reportAck', value: { reportId } }),
  ),
  'new-report-ids-on-repeat': () => {
    let offset = 0n;
    return {
      out: (body) => {
        if (body.case === 'hello') offset += 1000n;
        if (body.case === 'report') body.value.reportId += offset;
      },
      ...receives('reportAck', (ack) => {
        ack.reportId -= offset;
      }),
    };
  },
  'repeats-acknowledged': () => {
    let last: Report | undefined;
    return {
      in: (body, { headset, send }) => {
        if (body.case === 'reportAck')
          last = headset.journal.reports.get(Number(body.value.reportId)) ?? last;
        if (body.case === 'welcome' && last) send({ case: 'report', value: last });
      },
    };
  },
  /** Also if its counter is older, or its reports have provisional ids. */
  'ignores-acked-in-welcome': receives('welcome', (welcome) => {
    welcome.ackedReportId = 0n;
  }),
  'reports-out-of-order': together((batch) => batch.reverse()),
  'counts-from-one': () => {
    let base: bigint | undefined;
    return {
      ...sends('report', (report) => {
        base ??= report.reportId - 1n;
        report.reportId -= base;
      }),
      ...receives('reportAck', (ack) => {
        ack.reportId += base ?? 0n;
      }),
    };
  },
  'rewrites-epoch': sends('report', (report, { headset }) => {
    report.activationEpoch = BigInt(headset.journal.takenEpoch);
  }),
  /** Reports and uploads have the newest epoch of an offer. */
  'uses-offered-epoch': {
    out: (body, { headset }) => {
      const epoch = BigInt(headset.journal.activationEpoch);
      if (body.case === 'report') body.value.activationEpoch = epoch;
      if (body.case === 'urlRequest' && body.value.about.case === 'upload') {
        body.value.about.value.activationEpoch = epoch;
      }
    },
  },
  'stores-whole-texts': reports('customData', (value) => {
    value.customData = value.customData.repeat(2);
  }),
  'no-inventory': reports('inventory', (_, __, { snapshot }) => snapshot),
  'progress-after-result': reports('result', ({ transactionId }, { headset }) => {
    const value = { transactionId, progress: 1, message: 'installed' };
    setImmediate(() => headset.report({ case: 'progress', value }));
  }),
  'no-upload-report': reports('fileUpload', () => false),
  'reports-unknown-refusal': reports('fileUpload', (upload) => {
    upload.failure = 99 as UrlRefusal;
  }),

  'ignores-welcome-activation': receives('welcome', (welcome) => {
    delete welcome.activation;
  }),
  'takes-old-activation': receives('welcome', ({ activation }, { headset }) => {
    const newest = BigInt(headset.journal.activationEpoch);
    if (activation && activation.epoch < newest) activation.epoch = newest;
  }),
  'learns-no-epoch': receives('offer', (offer, { headset }) => {
    const { activationEpoch: newest } = headset.journal;
    if (newest > 0 && offer.activationEpoch > newest) offer.activationEpoch = BigInt(newest);
  }),
  'acts-on-old-epoch': receives('offer', (offer, { headset }) => {
    const { activationEpoch: newest } = headset.journal;
    if (offer.activationEpoch < newest) offer.activationEpoch = BigInt(newest);
  }),
  /** The languages of the former application stay. */
  'activation-not-erased': () => {
    let languages: readonly string[] = [];
    return {
      ...reports('inventory', (inventory) => {
        inventory.languages = [...languages];
      }),
      in: (body, { headset }) => {
        if (body.case === 'welcome' || body.case === 'start') ({ languages } = headset.device.state);
      },
    };
  },
  'erases-after-break': receives('welcome', ({ activation }, { headset }) => {
    const { journal, device } = headset;
    const isAgain = activation && activation.sinceEpoch > journal.activation.sinceEpoch;
    if (isAgain && journal.activation.applicationId !== '')
      headset.changeContent(device.withoutApplicationData());
  }),
  'no-snapshot': sends('report', ({ snapshot }) => !snapshot),
  'unmarked-snapshot': sends('report', (report) => {
    report.snapshot = false;
  }),
  'snapshot-first': together((batch) => {
    const ids = batch.map(({ reportId }) => reportId);
    const sorted = batch.sort((a, b) => Number(b.snapshot) - Number(a.snapshot));
    return sorted.map((report, i) => ({ ...report, reportId: ids[i] ?? 0n }));
  }),
  'snapshots-again': receives('start', (_, { headset }) => {
    const { firmwareVersion } = headset.device.state;
    setImmediate(() => headset.report({ case: 'inventory', value: { firmwareVersion } }, { snapshot: true }));
  }),
} satisfies Record<string, Fault | (() => Fault)>;
