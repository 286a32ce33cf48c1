/** The client violates the rule; the message describes the observation. */
export class Broken extends Error {}

/** The client does not have the subject of the rule. */
export class NotApplicable extends Error {}

/** The scenario did not get far enough to judge the rule. */
export class NotJudged extends Error {}

/** Throws Broken with `why` unless `fact` is true. */
export function must(fact: unknown, why: string): asserts fact {
  if (!fact) throw new Broken(why);
}
