import { systemTime, type Time } from '@headset-cloud/runtime/clock.ts';
import type { Catalogue } from '../ports/catalogue.ts';
import type { UploadStore } from '../ports/upload-store.ts';
import type { UploadAnswer } from '../storage/local-server.ts';
import { acceptsNoFile, type Checker } from './checker.ts';

/** Maximum wait of an uploader for the outcome; milliseconds. An idle connection is closed after 60 s. */
const maxWaitMs = 30_000;
const pollIntervalMs = 100;
const superseded: UploadAnswer = { status: 409, text: 'The version already exists or was withdrawn.' };
const received: UploadAnswer = { status: 200, text: 'The file was received and is being checked.' };

/** Called before a transfer begins. Returns the answer if the transfer would have no effect, otherwise undefined. */
export async function refuseUpload(
  { uploads, catalogue }: { uploads: Pick<UploadStore, 'get'>; catalogue: Pick<Catalogue, 'get'> },
  uploadId: string,
): Promise<UploadAnswer | undefined> {
  const upload = await uploads.get(uploadId);
  const artifact = upload && (await catalogue.get(upload.artifactId));
  return artifact && !acceptsNoFile(upload, artifact) ? undefined : superseded;
}

/** Checks the file with this tag, which has just arrived. Returns the outcome as the answer to the uploader. */
export async function answerUpload(
  check: Checker,
  uploadId: string,
  tag: string,
  time: Time = systemTime,
): Promise<UploadAnswer> {
  const stopPolling = new AbortController();
  const { signal } = stopPolling;
  const checked = pollOutcome(check, uploadId, tag, signal, time);
  try {
    return await Promise.race([checked, time.sleep(maxWaitMs, { signal }).then(() => received)]);
  } finally {
    stopPolling.abort();
    // The check continues in the background. If it fails, the sweeper repeats it.
    checked.catch(() => {});
  }
}

async function pollOutcome(
  check: Checker,
  uploadId: string,
  tag: string,
  signal: AbortSignal,
  time: Time,
): Promise<UploadAnswer> {
  for (;;) {
    const checked = await check(uploadId);
    // If another check has handled this file already, `known` contains its result.
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
        await time.sleep(pollIntervalMs, { signal });
    }
  }
}
