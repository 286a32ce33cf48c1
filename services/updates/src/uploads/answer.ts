import type { UploadAnswer } from '../storage/local-server.ts';
import type { Checker } from './checker.ts';

const triesWhileBusy = 100;
const betweenTriesMs = 100;

/** Checks an upload that has just arrived, so that the uploader is told what became of it. */
export async function answerUpload(check: Checker, uploadId: string): Promise<UploadAnswer> {
  for (let tries = 0; ; tries += 1) {
    const outcome = await check(uploadId);
    switch (outcome.kind) {
      case 'deliverable':
        return { status: 200, text: 'The file was accepted.' };
      case 'rejected':
        return { status: 422, text: `The file was rejected: ${outcome.reason}` };
      case 'superseded':
        return { status: 409, text: 'The version is there already, or was withdrawn.' };
      default:
        // Another look is under way, maybe at what was there before; the sweeper sees to it in the end.
        if (tries === triesWhileBusy) return { status: 200, text: 'The file was received.' };
        await new Promise((resolve) => setTimeout(resolve, betweenTriesMs));
    }
  }
}
