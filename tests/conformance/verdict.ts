/** The client violates the rule; the message describes the observation. */
export class Broken extends Error {}

/** The client does not have the feature that the rule is about. */
export class NotApplicable extends Error {}

/** The scenario ended before it could test the rule. */
export class NotTested extends Error {}

/** Throws Broken with `why` unless `fact` is true. */
export function must(fact: unknown, why: string): asserts fact {
  if (!fact) throw new Broken(why);
}
