import type { ReactElement } from 'react';
import { ja } from '../strings/ja';

export interface CodeBlockProps {
  readonly language: string;
  /** HTML of highlighted lines (build/highlight.ts). */
  readonly html: string;
  readonly title?: string;
  /** True for the output of a sample. */
  readonly output?: string | boolean;
}

export const languageNames: Readonly<Record<string, string>> = {
  bash: 'curl',
  js: 'Node.js',
  ts: 'TypeScript',
  python: 'Python',
  json: 'JSON',
  http: 'HTTP',
  yaml: 'YAML',
  text: '',
};

/** Blocks with more lines may be split between printed pages. */
const longLines = 20;

/**
 * Static markup; src/behaviour/code.ts copies and wraps. A reference has hundreds of blocks, so the icons of the
 * buttons are in code.css and need no elements.
 */
export function CodeBlock({ language, html, title, output }: CodeBlockProps): ReactElement {
  const caption = title ?? (output ? ja.code.output : undefined);
  const isLong = html.split('\n').length > longLines;
  return (
    <figure
      className={`code${output ? ' code--output' : ''}${isLong ? ' code--long' : ''}`}
      data-language={language}
      aria-label={caption ? undefined : ja.code.label(languageNames[language] ?? '')}
    >
      {caption ? <figcaption className="code__title">{caption}</figcaption> : null}
      <div className="code__body">
        <pre
          className="code__pre"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a block that scrolls must be reachable by keyboard
          tabIndex={0}
        >
          {/* biome-ignore lint/security/noDangerouslySetInnerHtml: made and escaped by build/highlight.ts */}
          <code dangerouslySetInnerHTML={{ __html: html }} />
        </pre>
        <div className="code__buttons">
          <button
            type="button"
            className="code__button"
            data-code="wrap"
            aria-pressed="false"
            aria-label={ja.code.wrap}
            title={ja.code.wrap}
            hidden
          />
          <button
            type="button"
            className="code__button"
            data-code="copy"
            aria-label={ja.code.copy}
            title={ja.code.copy}
          />
        </div>
      </div>
    </figure>
  );
}
