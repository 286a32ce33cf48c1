/** Points at which a headset can be made to die, between receiving and being acknowledged. */
export const deathPoints = ['received', 'ready-sent', 'started', 'effect-done', 'result-sent'] as const;
export type DeathPoint = (typeof deathPoints)[number];

/**
 * How a headset answers. `wrong-id`: it first answers for `wrongId` (an unknown transaction, or
 * another device's), then as usual.
 */
export const answerModes = ['normal', 'late', 'twice', 'wrong-id', 'never'] as const;
export type AnswerMode = (typeof answerModes)[number];

/** What a test can change about a headset while it runs. */
export interface Behaviour {
  /** Of offers (ready). */
  ready: AnswerMode;
  /** Of starts (result). */
  result: AnswerMode;
  /** For `late`; milliseconds. */
  delayMs: number;
  /** For `wrong-id`. */
  wrongId: number;
  /** How long the work of a transaction takes; milliseconds. */
  effectMs: number;
  /** False: results say failure, and nothing takes place. */
  succeeds: boolean;
  /** Whether the called app answers by itself. */
  appAnswer: boolean;
  appAnswerText: string;
  appAnswerData: string;
  /** When the app answers, after the result; milliseconds. */
  appAnswerDelayMs: number;
  /** How far the headset's own clock is off; milliseconds. */
  skewMs: number;
}

export const normalBehaviour: Behaviour = {
  ready: 'normal',
  result: 'normal',
  delayMs: 1000,
  wrongId: 999_999_999,
  effectMs: 0,
  succeeds: true,
  appAnswer: false,
  appAnswerText: 'done',
  appAnswerData: '',
  appAnswerDelayMs: 0,
  skewMs: 0,
};

/** Answers as `mode` says; `send` is given the wrong id when that is what to answer for. */
export function answer(mode: AnswerMode, behaviour: Behaviour, send: (wrongId?: number) => void): void {
  switch (mode) {
    case 'never':
      return;
    case 'late':
      setTimeout(() => send(), behaviour.delayMs).unref();
      return;
    case 'wrong-id':
      send(behaviour.wrongId);
      break;
    case 'twice':
      send();
      break;
    case 'normal':
      break;
  }
  send();
}
