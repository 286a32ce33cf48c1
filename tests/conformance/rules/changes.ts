import type { Link } from '../cloud/link.ts';
import type { Rule } from '../rule.ts';
import type { Stage } from '../stage.ts';
import { must } from '../verdict.ts';
import { activate, changeActivation, firstApplication, secondApplication } from './activations.ts';

/** Requests an upload and never sends its URL. Returns the file's path. */
async function pendingUpload(stage: Stage, link: Link, application: string): Promise<string> {
  const before = link.urlRequests.length;
  const file = `${application}/${stage.imei}/upload_files/pending.bin`;
  stage.client.request({ action: 'upload', file, sizeBytes: 2048 });
  await link.until('the URL request', () => link.urlRequests.length > before);
  return file;
}

/** Verifies that the end of the upload comes before the snapshot of the next activation. */
async function endsBeforeSnapshot(link: Link, file: string): Promise<void> {
  const last = await link.until('the snapshot of the inventory', () =>
    link.reports.find(({ snapshot, body }) => snapshot && body.case === 'inventory'),
  );
  const first = link.reports.find(({ snapshot }) => snapshot) ?? last;
  const ended = await link.until('the report of the upload', () =>
    link.reportsOf('fileUpload').find(({ value }) => value.file === file),
  );
  must(
    ended.report.reportId < first.reportId,
    `the end of the upload is report ${ended.report.reportId}, after the snapshot, ${first.reportId}`,
  );
}

/** Rules about the consequences of an activation change and the order of its reports. */
export const changes: readonly Rule[] = [
  {
    id: 'activations/uploads-first',
    sentence:
      'the end of every upload that has not ended, with its file_upload report … a PUT in progress is aborted); then the snapshot.',
    prove: async (stage) => {
      stage.cloud.onUrl = () => undefined;
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      const first = await pendingUpload(stage, link, firstApplication);
      const next = await changeActivation(stage, link, secondApplication, 5n, stage.id());
      await endsBeforeSnapshot(next, first);
      const second = await pendingUpload(stage, next, secondApplication);
      stage.cloud.activation = undefined;
      await stage.readyFence(next);
      const last = await stage.afterCut(next);
      await last.run(stage.id(), activate(firstApplication), { epoch: 6n });
      await endsBeforeSnapshot(last, second);
    },
  },
  {
    id: 'activations/same-reset',
    sentence: 'A reset whose id is revision is not done by the welcome: it is wiped at its start, as always.',
    prove: async (stage) => {
      const link = await stage.begin();
      await link.run(stage.id(), activate(firstApplication), { epoch: 3n });
      const reset = stage.id();
      const activated = await changeActivation(stage, link, firstApplication, 5n, reset, 3n);
      await stage.fence(activated, 5n);
      must(stage.effects(reset) === 0, 'the welcome alone reset the headset');
      activated.offer(reset, { case: 'reset', value: { applicationId: firstApplication } }, { epoch: 5n });
      await activated.ready(reset);
      activated.start(reset);
      const { value, link: next } = await stage.resultOverRestarts(activated, reset);
      must(value.success, `the reset failed: ${value.message}`);
      must(
        stage.effects(reset) === 1,
        `${stage.effects(reset)} effects of the reset, which was reported as done`,
      );
      await stage.fence(next, 5n);
    },
  },
  {
    id: 'activations/old-load',
    sentence:
      'So a load of a lower epoch has become useless, also when only an offer has raised the newest one: stop it at once',
    prove: async (stage) => {
      const link = await stage.begin();
      const id = await stage.startHeldUpdate(link);
      const { length } = link.urlRequests;
      const newer = stage.id();
      link.offer(newer, stage.command(), { epoch: 5n });
      await link.ready(newer);
      const { value } = await link.result(id);
      must(!value.success && stage.effects(id) === 0, 'an update of an earlier epoch was installed');
      const message = 'The transaction belongs to an earlier activation.';
      must(value.message === message, `the message is "${value.message}", not "${message}"`);
      await link.until('the end of the load', () => stage.files.of('GET').every(({ closed }) => closed));
      link.start(newer);
      must((await link.result(newer)).value.success, 'the command of the newest epoch failed');
      must(link.urlRequests.length === length, 'another URL was requested');
    },
  },
];
