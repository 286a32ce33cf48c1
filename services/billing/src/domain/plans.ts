import { DomainError } from '@headset-cloud/runtime/errors.ts';

/** Services that a device may use (specification API 3); null means none. */
export interface Plans {
  readonly videoMeeting: 'lite' | 'basic 100' | 'basic 200' | null;
  readonly speechRecognition: 'ja' | null;
}

/** Plans that are in force from `fromMs` on; milliseconds since 1970. */
export interface PlansEntry extends Plans {
  readonly fromMs: number;
}

export const noPlans: Plans = { videoMeeting: null, speechRecognition: null };

const videoPlans = ['lite', 'basic 100', 'basic 200'] as const;

/** Reads plans from an operator's input; undefined: none. Throws `invalid_argument`. */
export function requirePlans(video: string | undefined, speech: string | undefined): Plans {
  const videoMeeting = videoPlans.find((plan) => plan === video) ?? null;
  if (video !== undefined && videoMeeting === null) {
    throw new DomainError('invalid_argument', `video_meeting is not one of ${videoPlans.join(', ')}.`);
  }
  if (speech !== undefined && speech !== 'ja') {
    throw new DomainError('invalid_argument', 'speech_recognition is not ja.');
  }
  return { videoMeeting, speechRecognition: speech ?? null };
}

/** Adds new plans from now on to a history. Returns undefined if these plans are already in force. */
export function changedPlans(
  history: readonly PlansEntry[],
  plans: Plans,
  nowMs: number,
): PlansEntry[] | undefined {
  const last = history.at(-1);
  const current = last ?? noPlans;
  if (current.videoMeeting === plans.videoMeeting && current.speechRecognition === plans.speechRecognition) {
    return undefined;
  }
  // `fromMs` never decreases, so that the history stays ordered if the clock was set back.
  return [...history, { ...plans, fromMs: Math.max(nowMs, last?.fromMs ?? 0) }];
}

/** The plans that were in force just before a time. */
export function plansBefore(history: readonly PlansEntry[], atMs: number): Plans {
  const { videoMeeting, speechRecognition } = history.findLast(({ fromMs }) => fromMs < atMs) ?? noPlans;
  return { videoMeeting, speechRecognition };
}
