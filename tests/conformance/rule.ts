import type { Stage } from './stage.ts';

/** One rule of the protocol page and how it is shown to hold. */
export interface Rule {
  /** theme/name */
  readonly id: string;
  /** What the page says. */
  readonly sentence: string;
  /** It takes long by its nature (a wait that the page prescribes), so it is begun first; seconds. */
  readonly seconds?: number;
  /** Throws Broken, NotApplicable or NotJudged; returns when the rule holds. */
  prove(stage: Stage): Promise<void>;
}
