import { GoAwayReason, UrlRefusal } from '@headset-cloud/proto/device_link/v1/device_link_pb.ts';
import type { Link, OperationKind } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must } from '../verdict.ts';

export const firstApplication = 'conformance-one';
export const secondApplication = 'conformance-two';
const secret = { clientId: 'client', clientSecret: 'secret' };

/** Returns the operation that activates the headset for an application. */
export function activate(applicationId: string): OperationKind {
  return { case: 'activate', value: { applicationId, ...secret } };
}

/** Returns the activation for the welcome. */
function current(applicationId: string, epoch: bigint, revision: bigint, sinceEpoch = epoch) {
  const { clientId, clientSecret } = secret;
  return { applicationId, epoch, revision, sinceEpoch, clientId, clientSecret };
}

const snapshots = (link: Link) => link.reports.filter(({ snapshot }) => snapshot);

/** Waits for a snapshot and verifies it. */
async function wholeSnapshot(link: Link, epoch: bigint): Promise<void> {
  const state = await link.until('the snapshot of the state', () =>
    snapshots(link).find(({ body }) => body.case === 'stateChange'),
  );
  const inventory = await link.until('the snapshot of the inventory', () =>
    snapshots(link).find(({ body }) => body.case === 'inventory'),
  );
  for (const { activationEpoch } of [state, inventory]) {
    must(activationEpoch === epoch, `the snapshot has epoch ${activationEpoch}, not ${epoch}`);
  }
  const { body } = inventory;
  must(body.case === 'inventory' && body.value.firmwareVersion !== '', 'the inventory is empty');
  const first = link.reports.find(({ activationEpoch }) => activationEpoch >= epoch);
  must(first?.snapshot, `a ${first?.body.case} of epoch ${epoch} came before the snapshot`);
}

function oneSnapshot(link: Link): void {
  const ids = new Set(snapshots(link).map(({ reportId }) => reportId));
  must(ids.size === 2, `${ids.size} snapshot reports, not one state_change and one inventory`);
}

/** Cuts the connection and sends an activation in the next session's welcome. Returns that session. */
export async function changeActivation(
  stage: Stage,
  link: Link,
  applicationId: string,
  epoch: bigint,
  revision: bigint,
  sinceEpoch = epoch,
) {
  stage.cloud.activation = current(applicationId, epoch, revision, sinceEpoch);
  // The answer proves that the headset has deleted the acknowledged reports.
  await stage.readyFence(link);
  return await stage.afterCut(link);
}

export const activations: readonly Rule[] = [
  {
    id: 'activations/earlier-epoch',
    sentence:
      'a deactivate has nothing left to end: result success true, without effect … everything else does not take effect: result success false',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), stage.command(), { epoch: 5n });
      const id = stage.id();
      const { value } = await link.run(id, stage.command(), { epoch: 4n });
      must(!value.success && stage.effects(id) === 0, 'an operation of an earlier activation took effect');
      const message = 'The transaction belongs to an earlier activation.';
      must(value.message === message, `the message is "${value.message}", not "${message}"`);
      const deactivate = { case: 'deactivate', value: { applicationId: firstApplication } } as const;
      const old = await link.run(stage.id(), deactivate, { epoch: 4n });
      must(old.value.success, 'an old deactivation must succeed without an effect, but it failed');
    },
  },
  {
    id: 'activations/epoch-kept',
    sentence: 'newest activation epoch | ready, the next report',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = stage.id();
      link.offer(id, stage.command(), { epoch: 7n });
      await link.ready(id);
      const { hello } = await stage.afterKill();
      must(hello.activationEpoch === 7n, `hello has epoch ${hello.activationEpoch}, not 7`);
    },
  },
  {
    id: 'activations/activate',
    sentence:
      'the headset reports everything once: one state_change with every field it knows … and one inventory, both with snapshot true and the new epoch',
    prove: async (stage) => {
      const link = await stage.begin();
      must((await link.run(stage.id(), activate(firstApplication))).value.success, 'activate failed');
      await wholeSnapshot(link, 1n);
      await stage.fence(link);
      oneSnapshot(link);
      const again = await stage.afterCut(link);
      must(
        (await again.run(stage.id(), activate(firstApplication), { epoch: 2n })).value.success,
        'activate failed',
      );
      await stage.fence(again, 2n);
      must(snapshots(again).length === 0, 'a snapshot for the application that is already active');
      const next = await stage.afterCut(again);
      await next.run(stage.id(), activate(secondApplication), { epoch: 3n });
      await wholeSnapshot(next, 3n);
    },
  },
  {
    id: 'activations/welcome',
    sentence: 'Otherwise take its epoch, application, client id and secret and since_epoch.',
    prove: async (stage) => {
      const link = await changeActivation(stage, await stage.begin(), secondApplication, 5n, stage.id());
      const id = stage.id();
      const { value } = await link.run(id, stage.command(), { epoch: 4n });
      must(!value.success && stage.effects(id) === 0, 'an operation of an earlier epoch took effect');
      const { hello } = await stage.afterKill();
      must(hello.activationEpoch === 5n, `hello has epoch ${hello.activationEpoch}, not 5`);
    },
  },
  {
    id: 'activations/told-first',
    sentence:
      'Such work is offered, but instead of its start the cloud sends go_away with ACTIVATION, and the start after the next welcome',
    prove: async (stage) => {
      const link = await stage.begin();
      must((await link.run(stage.id(), activate(firstApplication))).value.success, 'activate failed');
      const canceled = stage.id();
      link.offer(canceled, activate(secondApplication), { epoch: 3n });
      await link.ready(canceled);
      link.drop(canceled);
      const id = stage.id();
      link.offer(id, stage.command(), { epoch: 3n });
      await link.ready(id);
      stage.cloud.activation = current(secondApplication, 3n, BigInt(canceled));
      const saidMs = performance.now();
      link.send({ case: 'goAway', value: { reason: GoAwayReason.ACTIVATION, retryAfterMs: 1500 } });
      link.end();
      const next = await stage.cloud.online(1500);
      const waitedMs = next.openedMs - saidMs;
      must(waitedMs > 1450, `connected again after ${waitedMs.toFixed(0)} ms, not 1500`);
      await wholeSnapshot(next, 3n);
      next.start(id);
      const { value } = await next.result(id);
      must(
        value.success && stage.effects(id) === 1,
        'work that waited for the welcome did not take effect once',
      );
    },
  },
  {
    id: 'activations/welcome-snapshot',
    sentence: 'ahead of every report that it makes from then on',
    prove: async (stage) => {
      const link = await changeActivation(stage, await stage.begin(), firstApplication, 5n, stage.id());
      await wholeSnapshot(link, 5n);
      await stage.fence(link, 5n);
      oneSnapshot(link);
      const next = await stage.afterCut(link);
      await stage.fence(next, 5n);
      must(snapshots(next).length === 0, 'a second snapshot of the same activation');
    },
  },
  {
    id: 'activations/snapshot-once',
    sentence: 'an activation with the snapshot and the ends of uploads',
    prove: async (stage) => {
      stage.cloud.acknowledges = false;
      const link = await stage.begin();
      stage.cloud.activation = current(firstApplication, 5n, stage.id());
      link.cut();
      const second = await stage.cloud.greeted();
      stage.cloud.welcome(second);
      await stage.client.kill();
      stage.client.start();
      const next = await stage.cloud.online();
      await wholeSnapshot(next, 5n);
      const last = await stage.afterKill();
      await wholeSnapshot(last, 5n);
      await stage.fence(last, 5n);
      oneSnapshot(last);
    },
  },
  {
    id: 'activations/absent',
    sentence:
      'If the field is absent, keep the stored activation. If its epoch is below the newest known one, ignore it.',
    prove: async (stage) => {
      const link = await changeActivation(stage, await stage.begin(), firstApplication, 5n, stage.id());
      await wholeSnapshot(link, 5n);
      const older = await changeActivation(stage, link, secondApplication, 4n, stage.id());
      await stage.fence(older, 5n);
      must(snapshots(older).length === 0, 'an activation of an older epoch was taken');
      stage.cloud.activation = undefined;
      await stage.readyFence(older);
      const next = await stage.afterCut(older);
      await stage.fence(next, 5n);
      must(next.hello.activationEpoch === 5n, `hello has epoch ${next.hello.activationEpoch}, not 5`);
      must(snapshots(next).length === 0, 'a snapshot without a change');
    },
  },
  {
    id: 'activations/same-change',
    sentence:
      'An activate or deactivate whose id is revision has no further effect if it arrives later: success true.',
    prove: async (stage) => {
      const id = stage.id();
      const link = await changeActivation(stage, await stage.begin(), firstApplication, 5n, id);
      await wholeSnapshot(link, 5n);
      const { value } = await link.run(id, activate(firstApplication), { epoch: 5n });
      must(value.success, `it failed: ${value.message}`);
      await stage.fence(link, 5n);
      oneSnapshot(link);
    },
  },
  {
    id: 'activations/same-again',
    sentence: 'the same application again, after a break: nothing is erased then',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      const languages = ['eo'];
      await link.run(stage.id(), { case: 'applyLanguages', value: { languages } }, { epoch: 3n });
      const next = await changeActivation(stage, link, firstApplication, 7n, stage.id());
      await wholeSnapshot(next, 7n);
      const inventory = snapshots(next).find(({ body }) => body.case === 'inventory')?.body;
      const kept = inventory?.case === 'inventory' && inventory.value.languages.includes('eo');
      must(kept, 'the languages of the application, which is active again, are lost');
    },
  },
  {
    id: 'activations/deactivated',
    sentence:
      'if the erasure has changed the languages, an ordinary inventory of the new epoch takes its place',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      const languages = ['eo'];
      await link.run(stage.id(), { case: 'applyLanguages', value: { languages } }, { epoch: 3n });
      const deactivate = { case: 'deactivate', value: { applicationId: firstApplication } } as const;
      const { report, value } = await link.run(stage.id(), deactivate, { epoch: 4n });
      must(value.success, `the deactivation failed: ${value.message}`);
      const reported = link
        .reportsOf('inventory')
        .find((one) => one.report.activationEpoch === 4n && one.report.reportId < report.reportId);
      must(reported, 'no inventory of the new epoch came before the result');
      must(!reported.report.snapshot, 'the inventory is marked as a snapshot');
      must(!reported.value.languages.includes('eo'), 'the languages of the application are still in force');
      const { hello } = await stage.afterCut(link);
      must(
        String(hello.languages) === String(reported.value.languages),
        `hello has the languages ${hello.languages}`,
      );
    },
  },
  {
    id: 'activations/erased',
    sentence:
      'Erase what the former one stored … the end of every upload that has not ended, with its file_upload report',
    prove: async (stage) => {
      stage.cloud.onUrl = () => undefined;
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      const languages = ['eo'];
      await link.run(stage.id(), { case: 'applyLanguages', value: { languages } }, { epoch: 3n });
      const file = `${firstApplication}/${stage.imei}/upload_files/erased.bin`;
      stage.client.request({ action: 'upload', file, sizeBytes: 2048 });
      await link.until('the request for an address', () => link.urlRequests.length > 0);
      const next = await changeActivation(stage, link, secondApplication, 5n, stage.id());
      const { report, value } = await next.until('the report of the upload', () =>
        next.reportsOf('fileUpload').find((ended) => ended.value.file === file),
      );
      must(value.failure !== UrlRefusal.UNSPECIFIED, 'the upload was reported as successful');
      must(report.activationEpoch === 3n, `the report has epoch ${report.activationEpoch}, not 3`);
      await wholeSnapshot(next, 5n);
      const inventory = snapshots(next).find(({ body }) => body.case === 'inventory')?.body;
      const kept = inventory?.case === 'inventory' && inventory.value.languages.includes('eo');
      must(!kept, 'the languages of the former application are still in force');
    },
  },
];
