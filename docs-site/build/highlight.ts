import { createCssVariablesTheme, createHighlighter, type Highlighter } from 'shiki';
import { type ValueName, valueNames } from './values.ts';

export const languages = ['bash', 'js', 'ts', 'python', 'json', 'http', 'yaml', 'text'] as const;
export type Language = (typeof languages)[number];

const theme = createCssVariablesTheme({ name: 'site', variablePrefix: '--tok-', fontStyle: false });

/** Class names of tokens, styled in src/css/code.css. Short, because a long page contains thousands of them. */
const classes: Readonly<Record<string, string>> = {
  'token-constant': 'tc',
  'token-string': 'ts',
  'token-string-expression': 'ts',
  'token-comment': 'tm',
  'token-keyword': 'tk',
  'token-parameter': 'tp',
  'token-function': 'tf',
  'token-link': 'tl',
};

export const escapeHtml = (text: string) =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c] ?? c);

export interface HighlightOptions {
  /** Numbers of the lines to mark, from 1. */
  readonly marked?: ReadonlySet<number>;
}
export type Highlight = (code: string, language: string, options?: HighlightOptions) => string;

const mark = (name: string) => `VALUE0${name}0`;
const marks = new RegExp(`VALUE0(${valueNames.join('|')})0`, 'g');

/** Creates the highlighter. It replaces `{{name}}` in code by a span that the page fills with the reader value. */
export async function createHighlight(examples: Readonly<Record<ValueName, string>>): Promise<Highlight> {
  const shiki: Highlighter = await createHighlighter({
    themes: [theme],
    langs: languages.filter((one) => one !== 'text'),
  });
  const seen = new Map<string, string>();
  const values = (html: string) =>
    html.replace(marks, (_, name: ValueName) => {
      return `<span class="value" data-value="${name}">${escapeHtml(examples[name])}</span>`;
    });
  return (code, language, options = {}) => {
    const marked = [...(options.marked ?? [])].join();
    const key = `${language}\n${marked}\n${code}`;
    const known = seen.get(key);
    if (known !== undefined) return known;
    if (!(languages as readonly string[]).includes(language)) {
      throw new Error(`code language "${language}" is unknown (known: ${languages.join(', ')})`);
    }
    const source = code.replace(/\{\{(\w+)\}\}/g, (whole, name: string) => {
      if ((valueNames as readonly string[]).includes(name)) return mark(name);
      throw new Error(`${whole} is not a reader value (known: ${valueNames.join(', ')})`);
    });
    const { tokens } = shiki.codeToTokens(source, {
      lang: language as 'bash',
      theme: 'site',
      tokenizeTimeLimit: 0,
    });
    const html = tokens
      .map((line, index) => {
        const spans = line.map((token) => {
          const kind = classes[/--tok-([\w-]+)/.exec(token.color ?? '')?.[1] ?? ''];
          const text = escapeHtml(token.content);
          return kind && text.trim() !== '' ? `<span class="${kind}">${text}</span>` : text;
        });
        const all = values(spans.join(''));
        return options.marked?.has(index + 1) ? `<mark class="code-line">${all}</mark>` : all;
      })
      .join('\n');
    seen.set(key, html);
    return html;
  };
}
