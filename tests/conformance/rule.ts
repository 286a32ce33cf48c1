import type { Stage } from './stage.ts';

/** A rule of the protocol page, and the scenario that tests it. */
export interface Rule {
  /** theme/name */
  readonly id: string;
  /** Sentence of the page; `…` joins separate sentences. */
  readonly sentence: string;
  /** Duration of a long wait that the page prescribes; seconds. Rules with a long wait start first. */
  readonly seconds?: number;
  /** Returns if the rule holds. Otherwise, throws Broken, NotApplicable or NotTested. */
  prove(stage: Stage): Promise<void>;
}
