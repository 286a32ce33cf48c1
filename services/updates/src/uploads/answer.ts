import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { UploadAnswer } from '../storage/local-server.ts';
import { type Checker, isOver } from './checker.ts';

/** Longest wait of an uploader for the outcome. Soon after it the connection would time out. */
const longestWaitMs = 30_000;
const betweenTriesMs = 100;
const superseded: UploadAnswer = { status: 409, text: 'The version already exists or was withdrawn.' };
const received: UploadAnswer = { status: 200, text: 'The file was received and is being checked.' };

/** Answer for a transfer that has no effect, before it begins; undefined if it may have an effect. */
export async function refuseUpload(
  { uploads, catalogue }: { uploads: Pick<UploadStore, 'get'>; catalogue: Pick<Catalogue, 'get'> },
  uploadId: string,
): Promise<UploadAnswer | undefined> {
  const upload = await uploads.get(uploadId);
  const artifact = upload && (await catalogue.get(upload.artifactId));
  return artifact && !isOver(upload, artifact) ? undefined : superseded;
}

/** Checks the file of that tag, which has just arrived, so that the uploader gets the outcome. */
export async function answerUpload(
  check: Checker,
  uploadId: string,
  tag: string,
  time: Time = systemTime,
): Promise<UploadAnswer> {
  const late = new AbortController();
  const { signal } = late;
  const checked = untilKnown(check, uploadId, tag, signal, time);
  try {
    return await Promise.race([checked, time.sleep(longestWaitMs, { signal }).then(() => received)]);
  } finally {
    late.abort();
    // The check continues in the background. If it fails, the sweeper repeats it.
    checked.catch(() => {});
  }
}

async function untilKnown(
  check: Checker,
  uploadId: string,
  tag: string,
  signal: AbortSignal,
  time: Time,
): Promise<UploadAnswer> {
  for (;;) {
    const checked = await check(uploadId);
    // Another check may have handled this file first.
    const outcome = (checked.kind === 'absent' && checked.known) || checked;
    switch (outcome.kind) {
      case 'deliverable':
        // Another file of this URL may have been accepted first.
        if (outcome.tag !== undefined && outcome.tag !== tag) return superseded;
        return { status: 200, text: 'The file was accepted.' };
      case 'rejected':
        return { status: 422, text: `The file was rejected: ${outcome.reason}` };
      case 'superseded':
        return superseded;
      case 'waits':
        return received;
      default:
        // Another check is running, perhaps of the earlier content.
        await time.sleep(betweenTriesMs, { signal });
    }
  }
}
