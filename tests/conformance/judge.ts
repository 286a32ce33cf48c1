import type { Violation } from './cloud/monitor.ts';
import type { Rule } from './rule.ts';
import { Stage, type StageOptions } from './stage.ts';
import { Broken, NotApplicable, NotJudged } from './verdict.ts';

export type Verdict = 'holds' | 'broken' | 'not applicable' | 'not judged';

export interface Judgement {
  readonly rule: Rule;
  verdict: Verdict;
  why: string;
  readonly seconds: number;
  readonly exchange: readonly string[];
  /** The end of the client's output. */
  readonly output: string;
  /** Other rules that were violated meanwhile. */
  readonly violations: readonly Violation[];
}

/** Judges one rule with its own client. */
export async function judge(rule: Rule, options: StageOptions): Promise<Judgement> {
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
      verdict = 'not judged';
      // A defect of the kit itself.
      if (!(error instanceof NotJudged)) why = (error as Error).stack ?? why;
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
 * Judges `jobs` rules at the same time; rules with long waits are started first. A rule that is violated in
 * another rule's scenario is broken.
 */
export async function judgeAll(
  rules: readonly Rule[],
  options: StageOptions & { readonly jobs: number; judged?(judgement: Judgement): void },
): Promise<Judgement[]> {
  const queue = [...rules].sort((a, b) => (b.seconds ?? 0) - (a.seconds ?? 0));
  const judgements: Judgement[] = [];
  const work = async () => {
    for (let rule = queue.shift(); rule; rule = queue.shift()) {
      const judgement = await judge(rule, options);
      judgements.push(judgement);
      options.judged?.(judgement);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, work));
  for (const { violations, rule: seenIn } of judgements) {
    for (const { rule, why } of violations) {
      const other = judgements.find((judgement) => judgement.rule.id === rule);
      if (!other || other.verdict === 'broken') continue;
      other.verdict = 'broken';
      other.why = `${why} (seen while ${seenIn.id} was judged)`;
    }
  }
  return judgements.sort((a, b) => rules.indexOf(a.rule) - rules.indexOf(b.rule));
}
