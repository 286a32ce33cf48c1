import { systemTime, type Time } from '@headset-cloud/kit/clock.ts';
import type { UploadAnswer } from '../storage/local-server.ts';
import type { Checker } from './checker.ts';

/** Longest wait of an uploader for the outcome; soon after it the connection would time out. */
const patienceMs = 30_000;
const betweenTriesMs = 100;
const received: UploadAnswer = { status: 200, text: 'The file was received and is being checked.' };

/** Checks an upload that has just arrived, so that the uploader gets the outcome. */
export async function answerUpload(
  check: Checker,
  uploadId: string,
  time: Time = systemTime,
): Promise<UploadAnswer> {
  const late = new AbortController();
  const { signal } = late;
  const checked = untilKnown(check, uploadId, signal, time);
  try {
    return await Promise.race([checked, time.sleep(patienceMs, { signal }).then(() => received)]);
  } finally {
    late.abort();
    // Nobody waits for a check that goes on; if it fails, the sweeper repeats it.
    checked.catch(() => {});
  }
}

async function untilKnown(
  check: Checker,
  uploadId: string,
  signal: AbortSignal,
  time: Time,
): Promise<UploadAnswer> {
  for (;;) {
    const checked = await check(uploadId);
    // Another check may have been first with this file.
    const outcome = (checked.kind === 'absent' && checked.known) || checked;
    switch (outcome.kind) {
      case 'deliverable':
        return { status: 200, text: 'The file was accepted.' };
      case 'rejected':
        return { status: 422, text: `The file was rejected: ${outcome.reason}` };
      case 'superseded':
        return { status: 409, text: 'The version is there already, or was withdrawn.' };
      case 'waits':
        return received;
      default:
        // Another check is running, perhaps of the earlier content.
        await time.sleep(betweenTriesMs, { signal });
    }
  }
}
