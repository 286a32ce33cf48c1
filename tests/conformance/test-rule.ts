import type { Violation } from './cloud/monitor.ts';
import type { Rule } from './rule.ts';
import { Stage, type StageOptions } from './stage.ts';
import { Broken, NotApplicable, NotTested } from './verdict.ts';

export type Verdict = 'holds' | 'broken' | 'not applicable' | 'not tested';

export interface RuleResult {
  readonly rule: Rule;
  verdict: Verdict;
  why: string;
  readonly seconds: number;
  readonly exchange: readonly string[];
  /** Last part of the client's output. */
  readonly output: string;
  /** Violations of any rule during this scenario. */
  readonly violations: readonly Violation[];
}

/** Tests one rule with its own client. */
export async function testRule(rule: Rule, options: StageOptions): Promise<RuleResult> {
  const stage = new Stage(options);
  const started = performance.now();
  let [verdict, why]: [Verdict, string] = ['holds', ''];
  try {
    await stage.open();
    await rule.prove(stage);
  } catch (error) {
    why = (error as Error).message;
    if (error instanceof Broken) verdict = 'broken';
    else if (error instanceof NotApplicable) verdict = 'not applicable';
    else {
      verdict = 'not tested';
      // Other errors are defects of the kit.
      if (!(error instanceof NotTested)) why = (error as Error).stack ?? why;
    }
  } finally {
    await stage.close();
  }
  const { violations } = stage.cloud.monitor;
  const own = violations.find((violation) => violation.rule === rule.id);
  if (own && verdict !== 'broken') [verdict, why] = ['broken', own.why];
  return {
    ...{ rule, verdict, why, violations },
    seconds: (performance.now() - started) / 1000,
    exchange: stage.exchange.lines,
    output: stage.client.output,
  };
}

/**
 * Tests `jobs` rules at the same time. Rules with long waits start first. A rule that is violated in the scenario of
 * another rule is broken.
 */
export async function testRules(
  rules: readonly Rule[],
  options: StageOptions & { readonly jobs: number; onResult?(result: RuleResult): void },
): Promise<RuleResult[]> {
  const queue = [...rules].sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0));
  const results: RuleResult[] = [];
  const work = async () => {
    for (let rule = queue.shift(); rule; rule = queue.shift()) {
      const result = await testRule(rule, options);
      results.push(result);
      options.onResult?.(result);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  for (const { violations, rule: seenIn } of results) {
    for (const { rule, why } of violations) {
      const other = results.find((result) => result.rule.id === rule);
      if (!other || other.verdict === 'broken') continue;
      other.verdict = 'broken';
      other.why = `${why} (seen in the scenario of ${seenIn.id})`;
    }
  }
  return results.sort((a, b) => rules.indexOf(a.rule) - rules.indexOf(b.rule));
}
