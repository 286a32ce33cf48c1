import { createHash } from 'node:crypto';
import { Parser } from 'htmlparser2';

export interface Reference {
  readonly attribute: 'href' | 'src' | 'srcset';
  readonly target: string;
}

/** What the checks and the CSP need to know of one HTML file. */
export interface HtmlFacts {
  readonly ids: ReadonlySet<string>;
  readonly duplicateIds: readonly string[];
  readonly references: readonly Reference[];
  readonly scripts: readonly string[];
  readonly styles: readonly string[];
  readonly elements: number;
  readonly noindex: boolean;
}

const cspHash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

export function readHtml(html: string): HtmlFacts {
  const ids = new Set<string>();
  const duplicateIds: string[] = [];
  const references: Reference[] = [];
  const scripts: string[] = [];
  const styles: string[] = [];
  let elements = 0;
  let noindex = false;
  let inline: { readonly into: string[]; text: string } | undefined;
  const parser = new Parser({
    onopentag(name, attributes) {
      elements++;
      const { id, href, src, srcset } = attributes;
      if (id) {
        if (ids.has(id)) duplicateIds.push(id);
        ids.add(id);
      }
      if (href !== undefined) references.push({ attribute: 'href', target: href });
      if (src !== undefined) references.push({ attribute: 'src', target: src });
      for (const one of (srcset ?? '').split(',')) {
        const target = one.trim().split(/\s+/)[0];
        if (target) references.push({ attribute: 'srcset', target });
      }
      if (name === 'meta' && attributes['name'] === 'robots' && /noindex/.test(attributes['content'] ?? ''))
        noindex = true;
      if (name === 'script' && src === undefined) inline = { into: scripts, text: '' };
      if (name === 'style') inline = { into: styles, text: '' };
    },
    ontext(text) {
      if (inline) inline.text += text;
    },
    onclosetag(name) {
      if (inline && (name === 'script' || name === 'style')) {
        inline.into.push(cspHash(inline.text));
        inline = undefined;
      }
    },
  });
  parser.write(html);
  parser.end();
  return { ids, duplicateIds, references, scripts, styles, elements, noindex };
}
