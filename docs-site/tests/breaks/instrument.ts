import { parse } from '@babel/parser';

/**
 * A mutant of the sources: a function that returns at once, a changed return value, or a negated condition. All mutants
 * are in the same instrumented copy, each behind a switch, so that they need only one build.
 */
export interface Mutant {
  readonly kind: 'leave' | 'value' | 'condition';
  readonly file: string;
  readonly line: number;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly body?: Node;
  readonly argument?: Node | null;
  readonly test?: Node;
  readonly loc: { readonly start: { readonly line: number } };
}

/** Returns the source with switches for its mutants. Appends the mutants to `mutants`. */
export function instrument(file: string, source: string, mutants: Mutant[]): string {
  const inserts: { readonly at: number; readonly text: string; readonly order: number }[] = [];
  const add = (kind: Mutant['kind'], { loc }: Node): number =>
    mutants.push({ kind, file, line: loc.start.line }) - 1;
  const wrap = (call: string, { start, end }: Node) => {
    // If two expressions have the same start or end, the outer one begins first and ends last.
    inserts.push({ at: start, text: `(globalThis.mutant?.${call},(`, order: -end });
    inserts.push({ at: end, text: '))', order: -start });
  };
  const value = (kind: 'value' | 'condition', node: Node) =>
    wrap(`${kind}??((_,one)=>one))(${add(kind, node)}`, node);
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type = '', body, argument, test } = node as Partial<Node>;
    if (/^(?:Arrow)?Function|^ObjectMethod$|^ClassMethod$/.test(type) && body && 'start' in body) {
      if (body.type === 'BlockStatement')
        inserts.push({
          at: body.start + 1,
          text: `if(globalThis.mutant?.leave(${add('leave', body)}))return;`,
          order: 0,
        });
      else value('value', body);
    }
    if (type === 'ReturnStatement' && argument) value('value', argument);
    if (/^(?:IfStatement|ConditionalExpression)$/.test(type) && test) value('condition', test);
    for (const [key, part] of Object.entries(node)) if (key !== 'loc') visit(part);
  };
  visit(
    parse(source, {
      sourceType: 'module',
      plugins: ['typescript', ...(file.endsWith('x') ? (['jsx'] as const) : [])],
    }).program,
  );
  let text = '';
  let from = 0;
  for (const one of inserts.sort((a, b) => a.at - b.at || closing(a) - closing(b) || a.order - b.order)) {
    text += source.slice(from, one.at) + one.text;
    from = one.at;
  }
  return text + source.slice(from);
}

/** Sort order at the same offset: closing brackets come before opening ones. */
const closing = ({ text }: { readonly text: string }): number => (text === '))' ? 0 : 1);
