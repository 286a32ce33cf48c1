import type { Stage } from './stage.ts';

/** One rule of the protocol page and the scenario that proves it. */
export interface Rule {
  /** theme/name */
  readonly id: string;
  /** The sentence of the page. */
  readonly sentence: string;
  /** Duration of a long wait that the page prescribes; such rules are started first; seconds. */
  readonly seconds?: number;
  /** Returns if the rule holds; otherwise throws Broken, NotApplicable or NotJudged. */
  prove(stage: Stage): Promise<void>;
}
