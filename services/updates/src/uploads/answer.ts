import { setTimeout as sleep } from 'node:timers/promises';
import type { UploadAnswer } from '../storage/local-server.ts';
import type { Checker } from './checker.ts';

/** Longest that an uploader waits for the outcome; the connection would be given up soon after. */
const patienceMs = 30_000;
const betweenTriesMs = 100;
const received: UploadAnswer = { status: 200, text: 'The file was received and is being checked.' };

/** Checks an upload that has just arrived, so that the uploader is told what became of it. */
export async function answerUpload(check: Checker, uploadId: string): Promise<UploadAnswer> {
  const late = new AbortController();
  const checked = untilKnown(check, uploadId, late.signal);
  try {
    return await Promise.race([checked, sleep(patienceMs, received, { signal: late.signal })]);
  } finally {
    late.abort();
    // A check that goes on fails for nobody: the sweeper makes it good.
    checked.catch(() => {});
  }
}

async function untilKnown(check: Checker, uploadId: string, signal: AbortSignal): Promise<UploadAnswer> {
  for (;;) {
    const outcome = await check(uploadId);
    switch (outcome.kind) {
      case 'deliverable':
        return { status: 200, text: 'The file was accepted.' };
      case 'rejected':
        return { status: 422, text: `The file was rejected: ${outcome.reason}` };
      case 'superseded':
        return { status: 409, text: 'The version is there already, or was withdrawn.' };
      default:
        // Another look is under way, maybe at what was there before.
        await sleep(betweenTriesMs, undefined, { signal });
    }
  }
}
